//! The header, from the sources, by cbindgen.

use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config, DocumentationStyle, ExportConfig, Language, Style};

const INTRODUCTION: &str = "\
/* gst-hip-rs.h: HIP memory, devices, streams and pools in GStreamer, for C.
 *
 * Generated from the Rust sources: `cargo run -p gst-hip-capi --example header`. Do not edit.
 *
 * Functions may be called from any thread and take null: what cannot be done without an object
 * fails. A GError ** is NULL or points at NULL; errors are of domain gst_hip_rs_error_quark(), their
 * codes the GST_HIP_RS_... states below. Start with gst_hip_rs_init().
 *
 * The structures cross between copies of the library in one process, which may be of different
 * builds: see `size` and `abi_version`. Programs use the functions; function tables are for
 * those who make such memory themselves.
 */";

/// Where the header is in the crate.
pub(crate) const HEADER: &str = "include/gst-hip-rs-1.0/gst/hiprs/gst-hip-rs.h";

/// The header's text.
pub(crate) fn generate() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = ["lib", "failure", "device", "context", "memory", "stream"];
    let mut sources: Vec<PathBuf> = vec![here.join("../gst-hip/src/abi/layout.rs")];
    sources.extend(own.map(|name| here.join(format!("src/{name}.rs"))));
    let used_through_pointers = [
        "GstHipRsMemory",
        "GstHipRsMemoryVTable",
        "GstHipRsPool",
        "GstHipRsPoolClass",
        "GstHipRsPoolVTable",
        "GstHipRsError",
    ];
    let config = Config {
        language: Language::C,
        style: Style::Both,
        header: Some(INTRODUCTION.to_owned()),
        include_guard: Some("GST_HIP_RS_H".to_owned()),
        no_includes: true,
        after_includes: Some(
            "\n#include <stddef.h>\n#include <stdint.h>\n\n#include <gst/gst.h>\n#include <gst/video/video.h>"
                .to_owned(),
        ),
        cpp_compat: true,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C,
        export: ExportConfig {
            include: used_through_pointers.map(str::to_owned).to_vec(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(source);
    }
    let mut text = Vec::new();
    builder
        .generate()
        .expect("the sources are understood")
        .write(&mut text);
    plain(&String::from_utf8(text).expect("UTF-8"))
}

/// Links of Rust's documentation as plain names.
fn plain(text: &str) -> String {
    let text = text.replace("[`", "").replace("`]", "").replace('`', "");
    text.replace("::", ".")
}
