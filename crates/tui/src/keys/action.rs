//! One row of the table of actions, and the macro that makes the table.

use super::{Action, Section};

/// What is known of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// Where it belongs.
    pub section: Section,
    /// As it is written in the keybindings file.
    pub name: &'static str,
    /// Its keys where the user's file names none.
    pub keys: &'static [&'static str],
    /// Whether those keys cannot be taken from it.
    pub fixed: bool,
    /// What it does, as a sentence.
    pub help: &'static str,
}

/// Declares the sections, the actions in them, and the table of all of them.
macro_rules! actions {
    ($(
        $(#[doc = $about:literal])+
        $section:ident = $prefix:literal {
            $($(#[$fixed:ident])? $variant:ident = $name:literal [$($key:literal),+] $help:literal;)+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $section {
                $(#[doc = $help] $variant,)+
            }

            impl From<$section> for Action {
                fn from(action: $section) -> Self {
                    Self::$section(action)
                }
            }
        )+

        /// Everything that a key can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action {
            $($(#[doc = $about])+ $section($section),)+
        }

        /// A group of actions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Section {
            $($(#[doc = $about])+ $section,)+
        }

        impl Section {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$section),+];

            /// What the names of its actions begin with.
            pub fn prefix(self) -> &'static str {
                match self {
                    $(Self::$section => $prefix,)+
                }
            }

            /// What it is for, as lines of text.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$section => concat!($($about, "\n"),+),)+
                }
            }
        }

        /// Every action, in the order of the documentation.
        pub const ACTIONS: &[Entry] = &[$($(Entry {
            action: Action::$section($section::$variant),
            section: Section::$section,
            name: concat!($prefix, ".", $name),
            keys: &[$($key),+],
            fixed: actions!(@is $($fixed)?),
            help: $help,
        },)+)+];
    };
    (@is) => { false };
    (@is fixed) => { true };
}

pub(super) use actions;
