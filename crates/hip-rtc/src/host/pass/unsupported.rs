//! What a GPU's compiler takes and a CPU's cannot: refused by name.

use super::super::HostError;
use super::lex::{Kind, Token};

const EXACT: &[(&str, &str)] = &[
    ("__ballot", "a warp vote"),
    ("__ballot_sync", "a warp vote"),
    ("__any", "a warp vote"),
    ("__any_sync", "a warp vote"),
    ("__all", "a warp vote"),
    ("__all_sync", "a warp vote"),
    ("__activemask", "a warp vote"),
    ("__syncwarp", "a warp barrier"),
    ("__lane_id", "a warp's lane"),
    ("cooperative_groups", "cooperative groups"),
    ("nvcuda", "matrix instructions"),
    ("wmma", "matrix instructions"),
    ("rocwmma", "matrix instructions"),
    ("texture", "a texture"),
    ("surface", "a surface"),
    ("cudaTextureObject_t", "a texture"),
    ("hipTextureObject_t", "a texture"),
    ("cudaSurfaceObject_t", "a surface"),
    ("hipSurfaceObject_t", "a surface"),
    ("asm", "inline assembly"),
    ("__asm", "inline assembly"),
    ("__asm__", "inline assembly"),
];

const PREFIXES: &[(&str, &str)] = &[
    ("__shfl", "a warp shuffle"),
    ("__match_any", "a warp vote"),
    ("__match_all", "a warp vote"),
    ("__reduce_", "a warp reduction"),
    ("tex1D", "a texture"),
    ("tex2D", "a texture"),
    ("tex3D", "a texture"),
    ("texCubemap", "a texture"),
    ("surf1D", "a surface"),
    ("surf2D", "a surface"),
    ("surf3D", "a surface"),
    ("surfCubemap", "a surface"),
    ("__builtin_amdgcn_", "an instruction of AMD's GPUs"),
    ("__nvvm_", "an instruction of NVIDIA's GPUs"),
];

/// Finds the first of them.
pub(super) fn check(tokens: &[Token<'_>]) -> Result<(), HostError> {
    for (index, token) in tokens.iter().enumerate() {
        if !token.user {
            continue;
        }
        let found = match token.kind {
            Kind::Ident => refused(token.text)
                .filter(|_| applies(tokens, index))
                .map(|what| (token.text, what)),
            Kind::Punct if is_launch(&tokens[index..]) => {
                Some(("<<<…>>>", "a launch from within a kernel text"))
            }
            _ => None,
        };
        if let Some((name, what)) = found {
            return Err(HostError::Unsupported {
                name: name.to_owned(),
                what,
                file: token.file.to_owned(),
                line: token.line,
            });
        }
    }
    Ok(())
}

fn refused(name: &str) -> Option<&'static str> {
    let exact = EXACT.iter().find(|(known, _)| *known == name);
    let known = exact.or_else(|| PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)));
    known.map(|(_, what)| *what)
}

/// Words that are somebody's own names as well are refused only where they can be nothing else.
fn applies(tokens: &[Token<'_>], index: usize) -> bool {
    let next = tokens.get(index + 1);
    let next_is = |text| next.is_some_and(|next: &Token<'_>| next.is(text));
    match tokens[index].text {
        "texture" | "surface" => next_is("<"),
        "wmma" => next_is(":"),
        "asm" | "__asm" | "__asm__" => {
            next_is("(") || next_is("volatile") || next_is("__volatile__")
        }
        name if name.starts_with("tex") || name.starts_with("surf") => next_is("(") || next_is("<"),
        name if name.starts_with("__reduce_") => name.ends_with("_sync"),
        _ => true,
    }
}

fn is_launch(tokens: &[Token<'_>]) -> bool {
    let [a, b, c, ..] = tokens else { return false };
    a.is("<") && b.is("<") && c.is("<") && b.start == a.start + 1 && c.start == b.start + 1
}
