//! The components, in the order in which they are offered input. Each component is one line of `components!`.

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::completion_catalog::CompletionCatalog;
use super::component::{Component, InputContext, InputOutcome};
use super::composer::Composer;
use super::conversation::ConversationView;
use super::dialogs::DialogQueue;
use super::menu::Menu;
use super::page::CoverPage;
use super::panel::PanelHost;
use crate::draw_context::DrawContext;
use crate::transcript::Transcript;

/// Declares the components with their names, types and initial values.
macro_rules! components {
    (new($($given:ident: $given_type:ty),*); $($name:ident: $type:ty = $begin:expr,)+) => {
        /// The components of the interface.
        #[derive(Debug)]
        pub(super) struct ComponentStack {
            $(pub(super) $name: $type,)+
        }

        impl ComponentStack {
            pub(super) fn new($($given: $given_type),*) -> Self {
                Self { $($name: $begin,)+ }
            }

            fn all(&self) -> impl Iterator<Item = &dyn Component> {
                [$(&self.$name as &dyn Component,)+].into_iter()
            }

            fn all_mut(&mut self) -> impl Iterator<Item = &mut dyn Component> {
                [$(&mut self.$name as &mut dyn Component,)+].into_iter()
            }
        }
    };
}

components! {
    new(transcript: Transcript, known: CompletionCatalog);
    dialogs: DialogQueue = DialogQueue::default(),
    menu: Option<Menu> = None,
    page: Option<CoverPage> = None,
    panel: PanelHost = PanelHost::default(),
    conversation: ConversationView = ConversationView::new(transcript),
    composer: Composer = Composer::new(known),
}

impl ComponentStack {
    /// Offers input to the components in order, until one of them handles it or leaves it unclaimed.
    pub(super) fn offer_input(
        &mut self,
        scope: &mut InputContext<'_>,
        give: impl Fn(&mut dyn Component, &mut InputContext<'_>) -> InputOutcome,
    ) -> InputOutcome {
        for component in self.all_mut() {
            match give(component, scope) {
                InputOutcome::PassedOn => {}
                flow @ (InputOutcome::Handled | InputOutcome::Unclaimed(_)) => return flow,
            }
        }
        InputOutcome::PassedOn
    }

    /// Returns the minimum rows of the component that covers the conversation, or `None` if no component does.
    pub(super) fn cover_rows(&self) -> Option<u16> {
        self.all().find_map(Component::cover_rows)
    }

    /// Draws the component that covers the conversation and returns its cursor. Returns `None` if no component does.
    pub(super) fn draw_cover(
        &mut self,
        area: Rect,
        buffer: &mut Buffer,
        look: &DrawContext,
    ) -> Option<Option<(u16, u16)>> {
        let cover = self.all_mut().find(|component| component.cover_rows().is_some())?;
        Some(cover.draw_cover(area, buffer, look))
    }

    /// True if no component covers the conversation and the conversation does not have the keyboard.
    pub(super) fn shows_conversation(&self) -> bool {
        self.cover_rows().is_none() && !self.conversation.is_open()
    }

    /// True if no other component is open: the composer has the keyboard.
    pub(super) fn is_composing(&self) -> bool {
        self.dialogs.is_empty() && self.shows_conversation()
    }

    pub(super) fn wakes_at(&self, now: Instant) -> Option<Instant> {
        self.all().filter_map(|component| component.wakes_at(now)).min()
    }
}
