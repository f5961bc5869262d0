//! The bridge: the engine as a Python extension module, `zeton._engine`, by PyO3.
//!
//! Each function converts its arguments, releases the GIL, calls the engine, and converts the
//! result. The bridge has no loop over tokens that the engine could run, and no policy that the
//! Python package could hold. For example, `tok.encode("Hello world")`:
//!
//! ```text
//! Python str ── text ──▶ &[u8] ── Tokenizer::encode ──▶ [9906, 1917] ── ids ──▶ Python list
//! ```
//!
//! | file | Python names, or its part |
//! |---|---|
//! | `tokenizer_core` | `TokenizerCore`, the base of `zeton.Tokenizer` |
//! | `encode`, `decode`, `describe` | the calls behind its methods |
//! | `construct`, `image` | constructors from tokens, merges, files, images |
//! | `streaming` | `Encoder`, `Decoder` |
//! | `limits`, `locate`, `explain`, `pieces`, `tiktoken` | functions on a `TokenizerCore` |
//! | `search`, `phrases` | `Finder`, `FinderMany`, `PhraseFinder` |
//! | `counts`, `progress` | `Counter`, `RawCounts`, `RawMerges`; long calls |
//! | `zstd` | `ZstdReader` |
//! | `text`, `ids` | conversions of texts and ids |
//! | `layout`, `str_layout` | lists, ints and strings in CPython's memory |
//! | `errors` | exceptions |

mod construct;
mod counts;
mod decode;
mod describe;
mod encode;
mod errors;
mod explain;
mod ids;
mod image;
mod layout;
mod limits;
mod locate;
mod phrases;
mod pieces;
mod progress;
mod search;
mod str_layout;
mod streaming;
mod text;
mod tiktoken;
mod tokenizer_core;
mod zstd;

use pyo3::prelude::*;

/// The compiled half of the package `zeton`.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::construct::{
        check_rules, from_file, from_merges, from_ranks, scripts_of, to_file, with_specials,
    };
    #[pymodule_export]
    use super::counts::{Counter, Counts, Merges, Texts};
    #[pymodule_export]
    use super::describe::{describe_grammar, describe_path};
    #[pymodule_export]
    use super::explain::{explain, explain_piece};
    #[pymodule_export]
    use super::image::{from_image, write_image};
    #[pymodule_export]
    use super::limits::{find_chunks, fit_end, fit_start};
    #[pymodule_export]
    use super::locate::{encode_with_places, find_completions, heal, place_ids};
    #[pymodule_export]
    use super::phrases::{PhraseFinder, spell_phrase};
    #[pymodule_export]
    use super::pieces::{encode_pieces, find_specials};
    #[pymodule_export]
    use super::search::{Finder, FinderMany};
    #[pymodule_export]
    use super::streaming::{Decoder, Encoder};
    #[pymodule_export]
    use super::tiktoken::{
        encode_invalid_utf8_tail, encode_piece, encode_unstable, find_special, find_token,
    };
    #[pymodule_export]
    use super::tokenizer_core::TokenizerCore;
    #[pymodule_export]
    use super::zstd::ZstdReader;
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        zeton::sys::interrupt::set_check(super::errors::has_signal);
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("DEFAULT_PATTERN", zeton::pattern::NANOCHAT)?;
        module.add("FILE_BYTES_MAX", zeton::storage::tokenizer_file::FILE_BYTES_MAX)?;
        module.add("IMAGE_ENGINE", zeton::storage::mapped_image::ENGINE)
    }
}
