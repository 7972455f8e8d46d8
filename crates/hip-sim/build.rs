//! Link options of the stand-in libraries.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo has no link options for a library that is an example, so all of this package's targets
    // get them; to programs they mean nothing. Every library gets a name that is long enough for
    // `hip-sim-install` to write the vendor's over it.
    println!("cargo::rustc-link-arg=-Wl,-soname,hip-sim-stand-in-not-installed.so.0");
    // Threads of the library's own, and its thread-local data, outlive whoever closes it.
    println!("cargo::rustc-link-arg=-Wl,-z,nodelete");
    // Copies of the libraries are made for many tests: without debug information they are a tenth.
    println!("cargo::rustc-link-arg=-Wl,--strip-debug");
}
