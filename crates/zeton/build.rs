//! Names this engine by its sources: an image that another one made is none of ours.

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
    list(Path::new("src"), &mut files)?;
    files.sort();
    for file in files {
        fs::read(file)?.hash(&mut hasher);
    }
    println!("cargo:rustc-env=ZETON_SOURCES={:016x}", hasher.finish());
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => list(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
