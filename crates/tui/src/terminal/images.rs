//! Images on terminals that support them.
//!
//! The environment variables decide the [`ImageProtocol`]. Images come from models, tools and extensions, so none is
//! sent unchanged. A small enough image is decoded on its own thread ([`decode`]), scaled to its cells, and encoded
//! again for the terminal ([`encode`]). Until then, and if that fails, its label is shown. The [`ImageCache`] holds
//! encoded images; the [`ImageLayer`] knows which images the terminal shows.
//!
//! This is own code because it is small: the libraries have a hundred dependencies or need a picture of the whole
//! screen.

mod decode;
mod encode;
mod image_cache;
mod image_layer;
mod image_painter;
mod protocol;
mod sixel;

pub(super) use image_cache::ImageCache;
pub(super) use image_layer::{ImageLayer, PlacedImage};
pub use image_painter::ImagePainter;
pub use protocol::ImageProtocol;
