//! `Hub`: who decides what follows from each line of the client and each piece of news.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use futures::FutureExt as _;
use haft_protocol::rpc::{Failure, Payload, RpcEvent, SessionEnd};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::carry;
use super::seat::{Life, Seat};
use super::work::{self, Ended};
use super::{End, Options};
use crate::desk::{Desk, Effect, Job, Ticket};
use crate::door::Door;
use crate::input::{Said, Source};
use crate::outlet::Outlet;
use crate::questions::Questions;
use crate::roster::Roster;
use crate::sessions::{Opened, Sessions};

/// What became of something that was under way.
pub(super) enum News {
    /// What a session worked on.
    Ended(String, Ended),
    /// A command whose reply may be long.
    Bulky(Place, Ticket, Result<Payload, Failure>),
    /// A command.
    Done(Place, Ticket, Result<Payload, Failure>),
    /// A command of an extension, or a template: beside its reply, the job that comes of it.
    Ran(String, Ticket, Result<(Payload, Option<Job>), Failure>),
    /// A session is open, or is not.
    Opened(Ticket, Meant, Result<Opened, Failure>),
    /// A session is closed; why what it said may not be on the disk.
    Closed(String, Option<String>),
    /// What was left of a session that was open already.
    Gone,
}

/// Whose command it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The process's.
    Lobby,
    /// That of the session with this id.
    Session(String),
}

/// Whether commands that name no session mean the one that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    FromHereOn,
    Not,
}

/// Why a client is not served any more.
pub(super) enum Broken {
    /// It cannot be heard.
    Input(io::Error),
    /// It cannot be told anything, although it has not left.
    Output(io::Error),
}

/// Replies that may be long and are not there yet, so that no room is taken for them: no command is read while there are
/// as many.
const MOST_BULKY: usize = 4;

/// Everything that is served.
pub(super) struct Hub<S> {
    pub(super) sessions: Arc<S>,
    pub(super) version: String,
    pub(super) outlet: Outlet,
    pub(super) questions: Questions,
    pub(super) door: Door,
    /// The commands that are about no single session.
    pub(super) lobby: Desk,
    pub(super) roster: Roster<Seat>,
    pub(super) work: JoinSet<News>,
    /// Cancelled when sessions need not be opened any more.
    pub(super) ending: CancellationToken,
    /// A session is being opened that the commands behind mean: they are not read before.
    pub(super) holds: bool,
    /// How many commands are under way whose replies may be long.
    pub(super) bulky: usize,
    /// Why nothing more is accepted.
    end: Option<End>,
}

impl<S: Sessions> Hub<S> {
    pub(super) fn new(
        sessions: Arc<S>,
        first: Opened,
        outlet: Outlet,
        questions: Questions,
        options: Options,
    ) -> Self {
        let seat = Seat::new(first);
        Self {
            sessions,
            version: options.version,
            outlet,
            questions,
            door: Door::new(options.token),
            lobby: Desk::default(),
            roster: Roster::new(seat.id(), seat),
            work: JoinSet::new(),
            ending: CancellationToken::new(),
            holds: false,
            bulky: 0,
            end: None,
        }
    }

    /// Works until everything is over.
    pub(super) async fn run(
        &mut self,
        cancel: &CancellationToken,
        input: &mut impl Source,
        mut writer: Pin<&mut impl Future<Output = io::Result<()>>>,
    ) -> Result<End, Broken> {
        let outlet = self.outlet.clone();
        let (mut reads, mut writes, mut told, mut broken) = (true, true, false, None);
        loop {
            if let Some(end) = self.end.filter(|_| self.is_over()) {
                return broken.map_or(Ok(end), Err);
            }
            let said = async {
                outlet.room().await;
                input.next().await
            };
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !told => {
                    told = true;
                    self.shutdown(End::Cancelled);
                }
                written = &mut writer, if writes => {
                    writes = false;
                    let torn = written.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
                    broken = broken.or(torn.map(Broken::Output));
                    self.shutdown(End::Gone);
                }
                Some(news) = self.work.join_next() => match news {
                    Ok(news) => self.news(news),
                    Err(error) => tracing::error!(%error, "a task of the client's was lost"),
                },
                said = said, if reads && !self.holds && self.bulky < MOST_BULKY => match said {
                    Ok(Said::Request(request)) => self.request(request),
                    Ok(Said::Unread(reply)) => self.outlet.reply(self.door.unread(reply)),
                    Ok(Said::End) => {
                        reads = false;
                        self.finish();
                    }
                    Err(error) => {
                        (reads, broken) = (false, Some(Broken::Input(error)));
                        self.finish();
                    }
                },
            }
        }
    }

    fn is_over(&self) -> bool {
        let closed = self.roster.iter().all(|(_, seat)| seat.life == Life::Closed);
        closed && self.lobby.is_closed() && self.work.is_empty()
    }

    /// The client says nothing more: what was accepted is finished.
    fn finish(&mut self) {
        self.end.get_or_insert(End::Input);
        // Nobody answers any more.
        self.questions.end();
        // The sessions follow: the last line of each is that it is closed, and no reply comes behind it.
        let effects = self.lobby.finish();
        self.apply(&Place::Lobby, None, effects);
    }

    /// Everything ends at once.
    pub(super) fn shutdown(&mut self, end: End) {
        if self.end.is_none_or(|end| end == End::Input) {
            self.end = Some(end);
        }
        self.ending.cancel();
        self.questions.end();
        let effects = self.lobby.shutdown();
        self.apply(&Place::Lobby, None, effects);
        self.each_session(Desk::shutdown);
    }

    fn each_session(&mut self, turn: fn(&mut Desk) -> Vec<Effect>) {
        let places: Vec<Place> = self.roster.iter().map(|(id, _)| Place::Session(id.to_owned())).collect();
        for place in places {
            let effects = self.desk(&place).map(turn).unwrap_or_default();
            self.apply(&place, None, effects);
        }
    }

    pub(super) fn desk(&mut self, place: &Place) -> Option<&mut Desk> {
        match place {
            Place::Lobby => Some(&mut self.lobby),
            Place::Session(id) => self.roster.get_mut(id).map(|seat| &mut seat.desk),
        }
    }

    /// Carries out what a desk says, in order. `about` is what the command that it comes from named as its session.
    pub(super) fn apply(&mut self, place: &Place, about: Option<&str>, effects: Vec<Effect>) {
        for effect in effects {
            match (effect, place) {
                (Effect::Reply(reply), _) => self.outlet.reply(reply),
                (Effect::Do(ticket, command), place) => self.carry_out(place, about, ticket, command),
                (Effect::Start(job), Place::Session(id)) => self.start(id, job),
                (Effect::Stop, Place::Session(id)) => {
                    self.roster.get_mut(id).into_iter().for_each(|seat| seat.stop.cancel());
                }
                (Effect::Close, Place::Session(id)) => self.close(id),
                (Effect::Close, Place::Lobby) if self.ending.is_cancelled() => {}
                (Effect::Close, Place::Lobby) => self.each_session(Desk::finish),
                // The process has nothing of its own to work on.
                (Effect::Start(_) | Effect::Stop, Place::Lobby) => {}
            }
        }
    }

    /// A command is done.
    pub(super) fn done(&mut self, place: &Place, ticket: Ticket, outcome: Result<Payload, Failure>) {
        let effects = self.desk(place).map(|desk| desk.done(ticket, outcome)).unwrap_or_default();
        self.apply(place, None, effects);
    }

    fn start(&mut self, id: &str, job: Job) {
        let Some(seat) = self.roster.get_mut(id) else { return };
        seat.stop = seat.closing.child_token();
        let (session, sessions) = (Arc::clone(&seat.opened), Arc::clone(&self.sessions));
        let (stop, id) = (seat.stop.clone(), id.to_owned());
        let mut work = async move { work::job(&session, &sessions, &stop, job).await }.boxed();
        // It has begun before the next command is taken: what is said to the agent behind a prompt finds it at work.
        let ended = (&mut work).now_or_never();
        self.work.spawn(async move {
            let ended = match ended {
                Some(ended) => ended,
                None => work.await,
            };
            News::Ended(id, ended)
        });
    }

    /// Nothing is worked on any more and nothing waits: extensions leave, and what was said is brought to the disk.
    fn close(&mut self, id: &str) {
        let Some(seat) = self.roster.get_mut(id) else { return };
        let (id, session) = (id.to_owned(), Arc::clone(&seat.opened));
        seat.closing.cancel();
        self.work.spawn(async move {
            let left = carry::answered(session.end_extensions()).await;
            let kept =
                carry::answered(async { session.agent.session().flush().await.map_err(Failure::other) })
                    .await;
            News::Closed(id, kept.and(left).err().map(|failure| failure.error))
        });
    }

    fn news(&mut self, news: News) {
        match news {
            News::Done(place, ticket, outcome) => self.done(&place, ticket, outcome),
            News::Bulky(place, ticket, outcome) => {
                self.bulky -= 1;
                self.done(&place, ticket, outcome);
            }
            News::Gone => {}
            News::Ran(id, ticket, outcome) => self.ran(&id, ticket, outcome),
            News::Opened(ticket, meant, outcome) => self.opened(ticket, meant, outcome),
            News::Ended(id, ended) => self.ended(id, ended),
            News::Closed(id, unsafe_because) => self.closed(&id, unsafe_because),
        }
    }

    fn ended(&mut self, id: String, Ended { last, stopped }: Ended) {
        if let (Some(last), Some(seat)) = (last, self.roster.get_mut(&id)) {
            seat.opened.screen.event(last);
        }
        let place = Place::Session(id);
        if stopped && let Place::Session(id) = &place {
            self.leave(id, SessionEnd::Failed);
            let effects = self.desk(&place).map(Desk::shutdown).unwrap_or_default();
            self.apply(&place, None, effects);
        }
        let effects = self.desk(&place).map(Desk::ended).unwrap_or_default();
        self.apply(&place, None, effects);
        if stopped && self.roster.iter().all(|(_, seat)| seat.life != Life::Open) {
            self.shutdown(End::Stopped);
        }
    }

    fn closed(&mut self, id: &str, lost: Option<String>) {
        let Some(seat) = self.roster.get_mut(id) else { return };
        seat.life = Life::Closed;
        let reason = seat.reason;
        let effects = seat.desk.closed();
        if let Some(why) = lost {
            seat.opened.screen.event(work::error(why));
        }
        self.apply(&Place::Session(id.to_owned()), None, effects);
        self.outlet.event(Some(id), RpcEvent::SessionClosed { reason });
        // The last one stays, for whoever asks until the process has ended.
        drop(self.roster.remove(id));
    }

    /// A session is about to be closed: commands that name none mean another one from here on.
    pub(super) fn leave(&mut self, id: &str, reason: SessionEnd) {
        if let Some(seat) = self.roster.get_mut(id).filter(|seat| seat.life == Life::Open) {
            (seat.life, seat.reason) = (Life::Closing, reason);
        }
        let next = self.roster.iter().find(|(_, seat)| seat.life == Life::Open);
        let next = next.map(|(id, _)| id.to_owned()).filter(|_| self.roster.current() == id);
        if let Some(next) = next {
            drop(self.roster.switch(&next));
        }
    }
}
