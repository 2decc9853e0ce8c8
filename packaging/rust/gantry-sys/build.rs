// SPDX-License-Identifier: Apache-2.0
// Finds the library: GANTRY_LIB_DIR, or pkg-config.
use std::{env, path::Path, process::Command};

fn pkg_config(arguments: &[&str]) -> Result<String, String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(&program).args(arguments).output().map_err(|e| format!("\"{program}\" does not run: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    // pkg-config writes a space within a path as a shell reads it.
    Ok(String::from_utf8_lossy(&output.stdout).trim().replace("\\ ", " "))
}

/// The folders of the library and of the headers.
fn folders() -> Result<(String, String), String> {
    if let Ok(lib) = env::var("GANTRY_LIB_DIR") {
        if !["libgantry.so", "libgantry.dylib", "libgantry.a"].iter().any(|name| Path::new(&lib).join(name).exists()) {
            return Err(format!("GANTRY_LIB_DIR=\"{lib}\" has no libgantry"));
        }
        let include = env::var("GANTRY_INCLUDE_DIR").unwrap_or_else(|_| format!("{lib}/../include"));
        return Ok((lib, include));
    }
    let minimum = format!("gantry >= {}", env!("CARGO_PKG_VERSION"));
    pkg_config(&["--exists", "--print-errors", &minimum])?;
    Ok((pkg_config(&["--variable=libdir", "gantry"])?, pkg_config(&["--variable=includedir", "gantry"])?))
}

fn main() {
    for name in ["GANTRY_LIB_DIR", "GANTRY_INCLUDE_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let (lib, include) = match folders() {
        Ok(found) => found,
        Err(reason) => {
            println!("cargo::error=Gantry is not found: {reason}. Set PKG_CONFIG_PATH to the folder of gantry.pc, or GANTRY_LIB_DIR to that of the library");
            return;
        }
    };
    println!("cargo::rustc-link-search=native={lib}");
    println!("cargo::rustc-link-lib=gantry");
    for (feature, library) in [("TRAIN", "gantry_train"), ("ONNX", "gantry_onnx")] {
        if env::var(format!("CARGO_FEATURE_{feature}")).is_ok() {
            println!("cargo::rustc-link-lib={library}");
        }
    }
    println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    println!("cargo::rustc-env=GANTRY_SYS_INCLUDE={include}");
    println!("cargo::metadata=LIB_DIR={lib}");
    println!("cargo::metadata=INCLUDE={include}");
}
