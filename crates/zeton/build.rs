//! Hashes the sources of this crate into `ZETON_SOURCES`, a part of the engine's name.
//!
//! A mapped image stores that name, so that an engine built from changed sources rejects it: see
//! `src/storage/mapped_image.rs`.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src");
    let mut hasher = DefaultHasher::new();
    for name in ["CARGO_PKG_VERSION", "CARGO_CFG_TARGET_ARCH", "CARGO_CFG_TARGET_ENDIAN"] {
        std::env::var(name).unwrap_or_default().hash(&mut hasher);
    }
    let mut files = Vec::new();
    list_files(Path::new("src"), &mut files)?;
    files.sort();
    for file in files {
        fs::read(file)?.hash(&mut hasher);
    }
    println!("cargo:rustc-env=ZETON_SOURCES={:016x}", hasher.finish());
    Ok(())
}

/// Appends all files under `folder` to `files`.
fn list_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => list_files(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
