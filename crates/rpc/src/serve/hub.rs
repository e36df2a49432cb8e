//! `Hub`: who decides what follows from each line of the client and each piece of news.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use haft_protocol::rpc::{
    CommandKind, ErrorCode, Failure, Fork, NewSession, Payload, Request, Response, RpcEvent, SessionEnd,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::outcome::{Carried, answered};
use super::seat::{self, Life, ActiveSession};
use super::work::{self, Ended};
use super::work::{Meant, News, Place};
use super::{End, Options, route, session};
use crate::desk::{CommandScheduler, Effect, Job, Ticket};
use crate::door::{Door, Refused};
use crate::input::{Said, Source};
use crate::outlet::Outlet;
use crate::questions::Questions;
use crate::roster::OpenSessions;
use crate::screen::Screens;
use crate::sessions::{Opened, Sessions, Which};

/// Why a client is not served any more.
pub(super) enum Broken {
    Input(io::Error),
    /// It cannot be told anything, although it has not left.
    Output(io::Error),
}

/// Replies that may be long and are not there yet, so that no room is taken for them: no command is read while there are
/// as many.
const MOST_BULKY: usize = 4;

pub(super) struct Hub<S> {
    pub(super) sessions: Arc<S>,
    pub(super) version: String,
    pub(super) outlet: Outlet,
    pub(super) questions: Questions,
    pub(super) door: Door,
    /// The commands that are about no single session.
    pub(super) lobby: CommandScheduler,
    pub(super) roster: OpenSessions<ActiveSession>,
    pub(super) work: JoinSet<News>,
    /// Cancelled when sessions need not be opened any more.
    pub(super) ending: CancellationToken,
    /// A session is being opened that the commands behind mean: they are not read before.
    pub(super) holds: bool,
    /// The number of commands that are under way whose replies may be long.
    pub(super) bulky: usize,
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
        let seat = ActiveSession::new(first);
        Self {
            sessions,
            version: options.version,
            outlet,
            questions,
            door: Door::new(options.token),
            lobby: CommandScheduler::default(),
            roster: OpenSessions::new(seat.id(), seat),
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
        self.each_session(CommandScheduler::shutdown);
    }

    fn each_session(&mut self, turn: fn(&mut CommandScheduler) -> Vec<Effect>) {
        let places: Vec<Place> = self.roster.iter().map(|(id, _)| Place::Session(id.to_owned())).collect();
        for place in places {
            let effects = self.desk(&place).map(turn).unwrap_or_default();
            self.apply(&place, None, effects);
        }
    }

    pub(super) fn desk(&mut self, place: &Place) -> Option<&mut CommandScheduler> {
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
                (Effect::Close, Place::Lobby) => self.each_session(CommandScheduler::finish),
                // The process has nothing of its own to work on.
                (Effect::Start(_) | Effect::Stop, Place::Lobby) => {}
            }
        }
    }

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
            let left = answered(session.end_extensions()).await;
            let kept =
                answered(async { session.agent.session().flush().await.map_err(Failure::other) }).await;
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
            self.roster.leave(id, SessionEnd::Failed);
            let effects = self.desk(&place).map(CommandScheduler::shutdown).unwrap_or_default();
            self.apply(&place, None, effects);
        }
        let effects = self.desk(&place).map(CommandScheduler::ended).unwrap_or_default();
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

    /// A command of the client. From here on it is answered exactly once: here, or by the desk that it is brought to.
    fn request(&mut self, request: Request) {
        let kind = request.command.kind();
        if let Err(refused) = self.door.admit(&request.command) {
            let (failure, ends) = match refused {
                Refused::Closed(failure) => (failure, false),
                Refused::Wrong(failure) => (failure, true),
            };
            self.refuse(request.id, kind, failure);
            if ends {
                self.shutdown(End::Refused);
            }
            return;
        }
        self.admitted(request);
        // Behind the reply to `hello`, where that was needed.
        self.outlet.open();
    }

    fn admitted(&mut self, mut request: Request) {
        let kind = request.command.kind();
        let routed = route::check_images(&mut request.command)
            .and_then(|()| route::place(kind, request.session.as_deref(), &self.roster));
        let (place, about) = match routed {
            Ok(routed) => routed,
            Err(failure) => return self.refuse(request.id, kind, failure),
        };
        if let (CommandKind::CloseSession, Place::Session(id)) = (kind, &place) {
            if let Err(failure) = self.roster.may_close_one(id) {
                return self.refuse(request.id, kind, failure);
            }
            self.roster.leave(id, SessionEnd::Requested);
        }
        let effects = self.desk(&place).map(|desk| desk.command(request)).unwrap_or_default();
        self.apply(&place, about.as_deref(), effects);
    }

    fn refuse(&self, id: Option<String>, kind: CommandKind, failure: Failure) {
        self.outlet.reply(Response::failure(id, kind, failure));
    }

    /// A command was run. What it wants to be worked on waits for its turn, told before the next prompt is.
    fn ran(&mut self, id: &str, ticket: Ticket, outcome: Result<(Payload, Option<Job>), Failure>) {
        let place = Place::Session(id.to_owned());
        let (mut outcome, job) = match outcome {
            Ok((data, job)) => (Ok(data), job),
            Err(failure) => (Err(failure), None),
        };
        let mut effects = Vec::new();
        if let (Some(job), Some(desk)) = (job, self.desk(&place)) {
            match desk.add(job) {
                Ok(begins) => effects = begins,
                Err(failure) => outcome = Err(failure),
            }
        }
        self.done(&place, ticket, outcome);
        self.apply(&place, None, effects);
    }

    pub(super) fn new_session(&mut self, ticket: Ticket, wish: NewSession) -> Option<Carried> {
        let which = Which::New { ephemeral: wish.ephemeral };
        self.open(ticket, Meant::Not, async move { Ok(which) }.boxed());
        None
    }

    pub(super) fn switch_session(&mut self, ticket: Ticket, named: &str) -> Option<Carried> {
        match self.roster.find(Some(named)).map(str::to_owned) {
            Ok(id) if self.roster.is_leaving(&id) => Some(Carried::Now(Err(seat::leaving()))),
            Ok(id) => {
                drop(self.roster.switch(&id));
                Some(Carried::Now(self.roster.described(&id)))
            }
            Err(failure) if self.roster.iter().any(|(id, _)| id.starts_with(named)) => {
                Some(Carried::Now(Err(failure)))
            }
            Err(_) => {
                self.holds = true;
                let which = Which::Stored(named.to_owned());
                self.open(ticket, Meant::FromHereOn, async move { Ok(which) }.boxed());
                None
            }
        }
    }

    pub(super) fn fork(&mut self, ticket: Ticket, id: &str, wish: Fork) -> Option<Carried> {
        let Some(opened) = self.roster.opened(id) else {
            return Some(Carried::Now(Err(Failure::other("no session"))));
        };
        let copied = session::copy_of(opened.agent.clone(), wish);
        self.open(ticket, Meant::Not, copied.boxed());
        None
    }

    /// Opens a session beside the others; [`opened`](Self::opened) goes on.
    fn open(&mut self, ticket: Ticket, meant: Meant, which: BoxFuture<'static, Result<Which, Failure>>) {
        let (sessions, ending) = (Arc::clone(&self.sessions), self.ending.clone());
        let screens = Screens::new(self.outlet.clone(), self.questions.clone(), true);
        self.work.spawn(async move {
            let opened = answered(async { sessions.open(which.await?, &screens).await });
            let ended = || Failure::new(ErrorCode::Shutdown, "the process ends");
            let opened = ending.run_until_cancelled(opened).await.unwrap_or_else(|| Err(ended()));
            if opened.is_err() {
                screens.failed();
            }
            News::Opened(ticket, meant, opened)
        });
    }

    fn opened(&mut self, ticket: Ticket, meant: Meant, outcome: Result<Opened, Failure>) {
        if meant == Meant::FromHereOn {
            self.holds = false;
        }
        let id = outcome.and_then(|opened| self.take_in(opened));
        let reply = match &id {
            Ok(id) => self.roster.described(id),
            Err(failure) => Err(failure.clone()),
        };
        if let (Ok(id), Meant::FromHereOn) = (&id, meant) {
            drop(self.roster.switch(id));
        }
        self.done(&Place::Lobby, ticket, reply);
        if let Ok(id) = id {
            self.catch_up(id);
        }
    }

    /// Another session beside the others; one that is open already stays as it is.
    fn take_in(&mut self, opened: Opened) -> Result<String, Failure> {
        let id = opened.screen.session().to_owned();
        if self.roster.get_mut(&id).is_some() {
            self.work.spawn(async move {
                // Nobody waits for what comes of it.
                drop(answered(opened.end_extensions()).await);
                News::Gone
            });
            let error = format!("session {id} is open already; name it with `session`");
            return Err(Failure::new(ErrorCode::SessionLocked, error));
        }
        drop(self.roster.add(id.clone(), ActiveSession::new(opened)));
        Ok(id)
    }

    /// A session that was opened as everything ends at once ends, too.
    fn catch_up(&mut self, id: String) {
        if self.ending.is_cancelled() {
            let place = Place::Session(id);
            let effects = self.desk(&place).map(CommandScheduler::shutdown).unwrap_or_default();
            self.apply(&place, None, effects);
        }
    }
}
