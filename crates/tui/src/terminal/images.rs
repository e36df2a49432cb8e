//! Images on terminals that can show them.
//!
//! Which way a terminal takes them is a [`ImageProtocol`], which the variables say. Images come from models, tools and
//! extensions, so none is sent as it is: what is small enough is decoded on a thread of its own ([`decode`]), shrunk to
//! the cells that it takes, and encoded anew for the terminal ([`encode`]). Until then, and where that fails, words stand
//! for it. The [`ImageCache`] has what is encoded; the [`ImageLayer`] knows what the terminal shows.
//!
//! Own code, because it is little: the libraries for this bring a hundred others, or a picture of the whole screen.

mod decode;
mod encode;
mod gallery;
mod pictures;
mod protocol;
mod sixel;
mod wall;

pub(super) use gallery::ImageCache;
pub use pictures::ImagePainter;
pub use protocol::ImageProtocol;
pub(super) use wall::{ImageLayer, PlacedImage};
