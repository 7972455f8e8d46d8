//! The shared library's name for the dynamic linker, which Cargo gives none.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "linux" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgsthiprs-1.0.so.0");
        // GTypes that it registered stay, and so must their functions.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
