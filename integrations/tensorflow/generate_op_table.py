# Makes table.h: for every TensorFlow op that Gantry knows by name, its attributes, host inputs and element types.
import os, ctypes as C, re; os.environ['TF_CPP_MIN_LOG_LEVEL']='3'
import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry
C.CDLL('libpocl.so.2',mode=os.RTLD_LOCAL|os.RTLD_NOW|8)
g=C.CDLL(os.environ.get('GANTRY_LIBRARY','build/release/lib/libgantry.so'))
class Info(C.Structure):
    _fields_=[('struct_size',C.c_uint32),('name',C.c_char_p),('summary',C.c_char_p),('ni',C.c_size_t),('no',C.c_size_t),('na',C.c_size_t),
      ('inputs',C.POINTER(C.c_char_p)),('outputs',C.POINTER(C.c_char_p)),('attrs',C.POINTER(C.c_char_p)),('composed',C.c_bool),('np',C.c_size_t),('parts',C.POINTER(C.c_char_p))]
rt=C.c_void_p(); assert g.gantry_runtime_create(None,C.byref(rt))==0
dev=C.c_void_p(); assert g.gantry_find_logical_device(rt,b'GPU:0',C.byref(dev))==0
ops={}
g.gantry_op_count.restype=C.c_size_t
for i in range(g.gantry_op_count()):
    x=Info(struct_size=C.sizeof(Info)); assert g.gantry_op_info(C.c_size_t(i),C.byref(x))==0
    ops[x.name.decode()]=([x.inputs[j].decode() for j in range(x.ni)],[x.attrs[j].decode() for j in range(x.na)],x.composed)
def has(op,dt):
    h=C.c_bool(); r=g.gantry_op_has_kernel(rt,op.encode(),dev,dt,C.byref(h),None); return None if r else h.value
ks=kernels.get_all_registered_kernels().kernel
tfops=sorted({k.op for k in ks if k.device_type in('CPU','DEFAULT','GPU')}|{'Conv2D','MatMul'})
default={}
for k in ks:
    if k.device_type=='DEFAULT':
        ts=[t for c in k.constraint if c.name in('T','dtype') for t in c.allowed_values.list.type] or ['*']
        default.setdefault(k.op,set()).update(ts)
def base(n):
    if n in ops: return n
    b=re.sub(r'V\d+$','',n)
    al={'RealDiv':'Div','Neg':'Neg'}
    return b if b in ops else al.get(n)
DT=[1,19,14,2,9,10,4,6,5,17,22,23]
HOST={'axis','dim','reduction_indices','perm','shape','dims','begin','end','strides','multiples','paddings','split_dim','concat_dim','dimension','k','num_segments','input_sizes','filter_sizes','alg','key','counter','seed','block_shape','crops','start','limit','delta','depth','num_rows','num_columns','num','size_splits','shift','s0','s1','output_shape','minval','maxval','diag_index','num_cols','padding_value','min','max'}
skip={'Const','VarHandleOp','AssignVariableOp','AssignAddVariableOp','AssignSubVariableOp','Identity','Reshape','ExpandDims','Squeeze','Shape','Size','Rank','BroadcastArgs','ReadVariableOp','ShapeN'}
out=[];cnt=0;unused=set(ops)
NAMES={1:'GANTRY_ATTR_BOOL',2:'GANTRY_ATTR_INT',3:'GANTRY_ATTR_FLOAT',4:'GANTRY_ATTR_TYPE',5:'GANTRY_ATTR_SHAPE',6:'GANTRY_ATTR_INTS',7:'GANTRY_ATTR_STRING'}
KIND={'bool':1,'int':2,'float':3,'type':4,'shape':5,'list(int)':6,'string':7}
for n in tfops:
    b=base(n)
    if not b: continue
    unused.discard(b)
    if n in skip or b in skip: continue
    od=op_def_registry.get(n)
    if od is None: continue
    gattr={a.split(':')[0] for a in ops[b][1]}
    attrs=[(a.name,KIND[a.type]) for a in od.attr if a.name in gattr and a.type in KIND and not (a.type=='int' and a.name=='N')]
    tattr=[a for a in od.attr if a.type=='type']
    first=None
    for a in tattr:
        if a.name in('T','dtype','SrcT','Tparams','TI'): first=a.name;break
    if first is None and tattr: first=tattr[0].name
    if any(i.type==7 or i.type==20 for i in od.input_arg): continue
    host=[i.name for i in od.input_arg if i.name in HOST and not (n in('Maximum','Minimum'))]
    if n in('Range','LinSpace'): continue
    hosto=[]
    allowed=None
    for a in tattr:
        if a.name==first and a.HasField('allowed_values'): allowed=set(a.allowed_values.list.type)
    types=[]
    for t in DT:
        if allowed is not None and t not in allowed: continue
        if has(b,t) is False: continue
        if t in default.get(n,()): continue
        types.append(t)
    if not types: continue
    cnt+=1
    mask=sum(1<<t for t in types)
    typed='.types = {{"%s", %#x}}, '%(first,mask) if first else ''
    attrs=', '.join('{"%s", %s}'%(a,NAMES[k]) for a,k in attrs)
    hosts=', '.join('"%s"'%h for h in host)
    out.append('{.op = "%s", .gantry = "%s", %s%s%s},'%(n,b,typed,'.attrs = {%s}, '%attrs if attrs else '','.host_args = {%s}'%hosts if hosts else ''))
open('op_table.def','w').write('/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by generate_op_table.py. */\n'+'\n'.join(out).replace(', }','}')+'\n')
print(len(ops),'gantry ops;',cnt,'TF ops bridged; gantry names that TF does not know:',len(unused)); print(' '.join(sorted(unused)))
