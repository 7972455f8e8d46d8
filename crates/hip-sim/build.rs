//! Link options of the stand-in libraries.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo has no link options for a single example, so every library gets a name that is long
    // enough for `hip-sim-install` to write the vendor's over it.
    println!("cargo::rustc-link-arg-examples=-Wl,-soname,hip-sim-stand-in-not-installed.so.0");
    // Threads of the library's own, and its thread-local data, outlive whoever closes it.
    println!("cargo::rustc-link-arg-examples=-Wl,-z,nodelete");
}
