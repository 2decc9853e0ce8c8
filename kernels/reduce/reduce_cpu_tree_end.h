/* SPDX-License-Identifier: Apache-2.0 */
/* Undefines what an instance of the tree is made of (reduce_cpu_tree.h), but not its operation. It
 * has no guard, because each instance includes it. Owner: none. Threads: thread-safe. */
#undef TREE_ROLLS
#undef TREE_NAME
#undef TREE_IN
#undef TREE_ACC
#undef TREE_LOAD
