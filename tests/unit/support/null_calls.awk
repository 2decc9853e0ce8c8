# SPDX-License-Identifier: Apache-2.0
# Makes a C file from the preprocessed public headers. The file has one function for each exported one, and their table: the function calls
# the exported one with NULL in chosen places. null_calls.h supplies the other arguments by type and name; a type that is missing there does
# not compile. Pointers are made first, from the last one on, and then the test may do something (READY). A second table says which public structs begin with struct_size. With a second file, the tables have what the first one
# does not declare; -v support=... names the header with the arguments.
FILENAME == ARGV[1] { text = text " " $0; next }
{ more = more " " $0 }

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# "const gantry_tensor_t * const *" becomes const_gantry_tensor_t_p_const_p.
function mangled(type) {
    gsub(/\*/, " p ", type)
    gsub(/_Bool/, "bool", type)
    type = trim(type)
    gsub(/ +/, "_", type)
    return type
}

# Splits one parameter into `name` and `type`; an array is a pointer.
function take_parameter(parameter) {
    parameter = trim(parameter)
    is_array = sub(/ *\[[^]]*\]$/, "", parameter)
    match(parameter, /[A-Za-z_0-9]+$/)
    name = substr(parameter, RSTART)
    type = trim(substr(parameter, 1, RSTART - 1)) (is_array ? " *" : "")
}

function emit(declaration,    open, head, function_name, result, count, parameters, i, places, names, made, arguments) {
    open = index(declaration, "(")
    head = trim(substr(declaration, 1, open - 1))
    match(head, /[A-Za-z_0-9]+$/)
    function_name = substr(head, RSTART)
    result = mangled(substr(head, 1, RSTART - 1))
    declaration = substr(declaration, open + 1)
    sub(/\) *$/, "", declaration)
    count = trim(declaration) == "void" ? 0 : split(declaration, parameters, ",")
    places = 0
    for (i = 1; i <= count; i++) {
        take_parameter(parameters[i])
        if (type ~ /\*|_fn$/) {
            names = names (places ? ", " : "") "\"" name "\""
            made = "    __auto_type a" i " = IS_NULL(" places ") ? NULL : given_" mangled(type) "(c, \"" name "\");\n" made
            arguments = arguments (i > 1 ? ", " : "") "a" i
            places++
        } else {
            arguments = arguments (i > 1 ? ", " : "") "given_" mangled(type) "(c, \"" name "\")"
        }
    }
    if (is_first && ARGC > 2) { known[function_name] = 1; return }
    if (function_name in known) return
    printf "static void call_%s(null_call_t *c) {\n    (void)c;\n%s    READY(c);\n    RESULT_%s(%s(%s));\n}\n\n", function_name, made, result, function_name, arguments
    rows = rows sprintf("    {\"%s\", call_%s, %d, {%s}},\n", function_name, function_name, places, places ? names : "NULL")
}

END {
    print "/* Made by tests/unit/support/null_calls.awk from the public headers. */"
    print "#define _GNU_SOURCE /* mkstemp */"
    print "#include \"" (support ? support : "null_calls.h") "\"\n"
    is_first = 1
    read(text)
    is_first = 0
    if (ARGC > 2) read(more)
    print "const null_function_t null_functions[] = {\n" rows "};"
    print "const public_struct_t public_structs[] = {\n" structs "};"
    print "const size_t public_struct_count = sizeof public_structs / sizeof public_structs[0];"
    print "const size_t null_function_count = sizeof null_functions / sizeof null_functions[0];"
}

function read(text,    mark, statements, statement, s, struct_name, at, declaration) {
    mark = "__attribute__((visibility(\"default\")))"
    statements = split(text, statement, ";")
    for (s = 1; s <= statements; s++) {
        if (match(statement[s], /typedef struct gantry_[a-z_0-9]+ +\{/)) {
            struct_name = substr(statement[s], RSTART + 15, RLENGTH - 15)
            sub(/ +\{/, "", struct_name)
            if (is_first && ARGC > 2) known[struct_name] = 1
            else if (!(struct_name in known)) structs = structs sprintf("    {\"%s\", %s},\n", struct_name, statement[s] ~ /\{ *uint32_t struct_size$/ ? "true" : "false")
        }
        at = index(statement[s], mark)
        if (!at) continue
        declaration = substr(statement[s], at + length(mark))
        if (declaration ~ /gantry_[a-z_0-9]+ *\(/) emit(declaration)
    }
}
