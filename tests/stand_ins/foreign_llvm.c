/* SPDX-License-Identifier: Apache-2.0 */
/* Another LLVM, as in a program that exports its own (TensorFlow's libtensorflow_framework.so).
 * Such functions have LLVM's names but do not understand the objects of a driver's LLVM. Real ones
 * damage memory first; here each ends the process at once. */
#define FOREIGN(name, symbol)        \
    void name(void) __asm__(symbol); \
    void name(void) { __builtin_trap(); }

/* Initialisers of libclang call these. */
FOREIGN(foreign_add_argument, "_ZN4llvm2cl6Option11addArgumentEv")
FOREIGN(foreign_general_category, "_ZN4llvm2cl18getGeneralCategoryEv")
FOREIGN(foreign_set_arg_str, "_ZN4llvm2cl6Option9setArgStrENS_9StringRefE")
FOREIGN(foreign_context_create, "LLVMContextCreate")
