# SPDX-License-Identifier: Apache-2.0
"""Where the ops of a tf.compat.v1.Session ran, for op_report.py.

A session cuts its graph into one for each device, once for each set of fetches, feeds and targets. The metadata of a
run that requests them has these graphs. The first run of each set does so; later runs of the set only count. A failure
of the report is none of the program.
"""

import weakref


def _key(tf_session, feeds, fetches, targets):
    name = tf_session.TF_OperationName
    return (tuple(sorted((name(feed.oper), feed.index) for feed in feeds)),
            tuple((name(fetch.oper), fetch.index) for fetch in fetches), tuple(map(name, targets)))


def _asking(tf_session, options):
    """A buffer with the program's options, which requests the graphs, too."""
    from tensorflow.core.protobuf import config_pb2

    wanted = config_pb2.RunOptions()
    if options is not None:
        wanted.ParseFromString(tf_session.TF_GetBuffer(options))
    wanted.output_partition_graphs = True
    return tf_session.TF_NewBufferFromString(wanted.SerializeToString())


def _run_and_ask(run, tf_session, asking, metadata, add_graphs):
    """run(options, metadata) with a request for the graphs, which go to add_graphs. Deletes the buffer `asking`."""
    answer = tf_session.TF_NewBuffer() if metadata is None else metadata
    try:
        result = run(asking, answer)
        add_graphs(tf_session.TF_GetBuffer(answer))
        return result
    finally:
        tf_session.TF_DeleteBuffer(asking)
        if metadata is None:
            tf_session.TF_DeleteBuffer(answer)


def install(counter):
    """counter: the Counter of op_report.py."""
    from tensorflow.python.client import pywrap_tf_session as tf_session
    from tensorflow.python.client import session as session_module

    run_session = session_module.BaseSession._call_tf_sessionrun
    known = weakref.WeakKeyDictionary()  # session: {key: what the counter keeps}

    def call(self, options, feed_dict, fetch_list, target_list, run_metadata):
        def run(options_now, metadata_now):
            return run_session(self, options_now, feed_dict, fetch_list, target_list, metadata_now)

        if counter.failure:
            return run(options, run_metadata)
        try:
            sets, key = known.setdefault(self, {}), _key(tf_session, feed_dict, fetch_list, target_list)
            asking = None if key in sets else _asking(tf_session, options)
        except Exception as error:  # whatever it is, the program continues
            counter.failure = repr(error)
            return run(options, run_metadata)
        if asking is None:
            result = run(options, run_metadata)
        else:
            function = counter.new_session_graph()
            result = _run_and_ask(run, tf_session, asking, run_metadata,
                                  lambda metadata: counter.add_session_graphs(function, metadata))
            sets[key] = function
        sets[key].calls += 1
        return result

    session_module.BaseSession._call_tf_sessionrun = call
