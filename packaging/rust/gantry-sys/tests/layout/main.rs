// SPDX-License-Identifier: Apache-2.0
// Each struct has the size and the offsets that the C compiler ("cc", or CC) gives it.
use gantry_sys::*;
use std::{env, fs, process::Command};

type Row = (&'static str, usize, &'static [(&'static str, usize)]);

macro_rules! rows {
    ($name:ident $(, $field:ident)*) => {
        (stringify!($name), size_of::<$name>(), &[$((stringify!($field), std::mem::offset_of!($name, $field))),*])
    };
}

const HEADERS: &str = "#include <gantry/gantry.h>\n#include <gantry_onnx/onnx.h>\n#include <gantry_train/train.h>\n#include <stdio.h>\n";

#[test]
fn structs_have_the_layout_of_c() {
    let rows: &[Row] = &include!("rows.rs");
    let (mut program, mut expected) = (format!("{HEADERS}int main(void) {{\n"), String::new());
    for (name, size, fields) in rows {
        program += &format!("printf(\"{name} %zu\\n\", sizeof({name}));\n");
        expected += &format!("{name} {size}\n");
        for (field, offset) in *fields {
            let field = field.trim_start_matches("r#");
            program += &format!("printf(\"{name}.{field} %zu\\n\", offsetof({name}, {field}));\n");
            expected += &format!("{name}.{field} {offset}\n");
        }
    }
    let folder = env!("CARGO_TARGET_TMPDIR");
    let (source, binary) = (format!("{folder}/layout.c"), format!("{folder}/layout"));
    fs::write(&source, program + "return 0; }\n").unwrap();
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let compiled = Command::new(&compiler).args(["-std=c11", "-I", env!("GANTRY_SYS_INCLUDE"), &source, "-o", &binary]).status().unwrap();
    assert!(compiled.success(), "{compiler} does not compile {source}");
    let seen = String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap();
    assert!(rows.len() > 50, "only {} structs", rows.len());
    for (seen, expected) in seen.lines().zip(expected.lines()) {
        assert_eq!(seen, expected);
    }
    assert_eq!(seen.lines().count(), expected.lines().count());
}
