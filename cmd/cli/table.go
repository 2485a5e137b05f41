package cli

// The verbs that people and agents use every day. The comment of type Verb says what {client}
// stands for.

var writing = []Verb{
	{Name: "send", Everyday: true, Args: "<alias> [text | -]", First: "alias", Short: "send a message",
		Long: "The message is on disk then. '#NAME' is a room, all is all sessions. In double\n" +
			"quotes a shell runs what stands in backticks: -F - <<'EOF' takes any text.\n",
		Options: []Option{
			textFile, asSession, kind, urgent, blocking, fail, deferrable, ephemeral, ttl, tellAfter, answerBy,
			{Name: "id", Value: "id", Short: "your own id; sending it again does no harm"},
			{Name: "reply-to", Value: "id", Takes: "received", Short: "the message that this message answers"},
			inProject,
			{Name: "wake", Short: "to a room: wake all members; only a person may", Aside: true},
			{Name: "reason", Value: "words", Short: "to a room: why @all, shown to all", Aside: true},
			asJSON,
		},
		Examples: []string{"c2c send amber 'The build is green again.'"}},
	{Name: "reply", Everyday: true, Args: "[message-id] [text | -]", First: "received", Short: "answer a message",
		Long: "The answer goes to the session that wrote the message, or to its room. Without\n" +
			"an id it answers the last handed-over message. Put several words into quotes.\n",
		Options: []Option{
			textFile, asSession, kind, urgent, blocking, fail, deferrable, ephemeral, ttl, tellAfter,
			{Name: "done", Short: "say that your task is done, for c2c notify"}, inProject, asJSON,
		},
		Examples: []string{"c2c reply 099a8057 'Yes.'"}},
	{Name: "ask", Everyday: true, Args: "<alias> [text | -]", First: "alias", Short: "ask a question and wait for the answer",
		Long: "The other session answers with reply. An answer after --wait comes as mail.\n" +
			"c2c does not wait for a session that has ended, or that waits for you.\n" +
			"Keep --wait below the time limit of your client's shell.\n",
		Options: []Option{
			{Name: "wait", Value: "duration", Default: "90s", Short: "how long to wait"},
			textFile, asSession, kind, urgent, blocking, fail, deferrable, ephemeral, ttl, tellAfter, inProject, asJSON,
		},
		Examples: []string{"c2c ask amber 'Is the build green?' --wait 5m"}},
}

// The options of send, and of similar verbs, that describe a message.
var (
	textFile   = Option{Name: "F", Value: "file", Takes: "file", Short: "a file with the text; - is standard input"}
	kind       = Option{Name: "kind", Value: "word", Takes: "message question task review status ack", Short: "message, question, task, review, status or ack"}
	urgent     = Option{Name: "urgent", Short: "mark it as urgent; it still comes in its turn"}
	blocking   = Option{Name: "blocking", Short: "mark the message as blocking the sender"}
	fail       = Option{Name: "fail", Short: "mark the message as the report of a failure"}
	deferrable = Option{Name: "deferrable", Short: "do not wake the receiver for it"}
	ephemeral  = Option{Name: "ephemeral", Short: "do not archive it after it is read", Aside: true}
	ttl        = Option{Name: "ttl", Value: "duration", Short: "hand it over within this time or not at all"}
	answerBy   = Option{Name: "answer-by", Value: "duration", Short: "tell me if it is not answered within this time"}
	tellAfter  = Option{Name: "tell-after", Value: "duration", Takes: "never", Short: "tell me if unread after this time; or never"}
)

var reading = []Verb{
	{Name: "poll-inbox", Everyday: true, Short: "take the waiting messages",
		Options: []Option{
			{Name: "wait", Value: "duration", Optional: true, Short: "wait for mail: this long, or without a limit"},
			{Name: "check", Short: "print nothing, or --json: exit 0 if mail waits, else 3"},
			{Name: "peek", Short: "leave the messages where they are"},
			asSession, inProject, asJSON,
		},
		Examples: []string{"c2c poll-inbox --wait 5m"}},
	{Name: "history", Everyday: true, Short: "show what was handed over, or sent, newest first",
		Long: "What was sent does not include ephemeral messages that were read, and what\nc2c prune removed. Dead letters are mail that c2c no longer hands over: it has\nexpired, or c2c sweep has found that its session is long gone.\n",
		Options: []Option{
			{Name: "sent", Short: "what this session has sent, and what became of it"},
			{Name: "dead", Short: "the dead letters of all sessions, oldest first"},
			limit, asSession, inProject, asJSON,
		},
		Examples: []string{"c2c history --limit 5", "c2c history --sent"}},
	{Name: "status", Everyday: true, Args: "<message-id>", First: "message", Short: "tell what became of a message",
		Long: "The conversation is the message, the message that it answers, the answers to it,\nand so on, oldest message first.\n",
		Options: []Option{
			{Name: "thread", Short: "show the whole conversation"},
			inProject, asJSON,
		},
		Examples: []string{"c2c status 099a8057"}},
	{Name: "obligations", Short: "show which answers are due, from which session and when",
		Long: `A question, a task or a review is to be answered in time: within 10 minutes if
it is marked as blocking, 30 if it is urgent, else 4 hours; send --answer-by
sets another time. An answer ends the obligation, unless it is a status, an ack
or a question; so does reply --fail. c2c reminds the receiver when the answer is
due. A person at a terminal sees the obligations of all sessions.
`,
		Options: []Option{
			{Name: "all", Short: "also show obligations that are over"},
			asSession, asJSON,
		},
		Examples: []string{"c2c obligations"}},
	{Name: "stats", Short: "count mail, what it puts into contexts, and rings, by session",
		Long: `Counts the messages that were handed over: by session and by pair, with the
bytes that c2c has written into contexts for them (each envelope, and the
sentence before) and how long they waited; what waits now; and by which way
sessions were woken. TOKENS is what the client's own record says of the last
request to its model. The end counts the questions, tasks and reviews of which
c2c still has a record.
`,
		Options: []Option{
			{Name: "since", Value: "duration", Default: "24h", Short: "count the mail of this time until now"},
			inProject, asJSON,
		},
		Examples: []string{"c2c stats --since 1h"}},
	{Name: "search", Args: "<words>", Short: "look for words in mail and in rooms",
		Long: "Finds messages that have all the words, in their text or as an alias, and posts\n" +
			"in rooms that you may read (room in JSON). Case does not matter. A person at a\n" +
			"terminal searches the mail of all sessions.\n",
		Options: []Option{limit, asSession, asJSON}, Examples: []string{"c2c search build green"}},
	{Name: "watch", C2cd: true, Everyday: true, Short: "sessions and mail on the whole screen, as they change",
		Long: `Shows the sessions of a project, those that need you on top, and your other
projects, each as a line. Three views stand beside it: 1 the mail as it flows,
with threads and a search; 2 who waits for whom; 3 how far each message has
come. Enter goes to the terminal of a session, if that is a pane of tmux, or to
another project. From here you write and answer as yourself, ask why a message
was not read, and switch do-not-disturb. The last line shows keys, ? shows more;
the mouse works, too. The screen only reads: it takes and marks no message,
except your own when you press m. NO_COLOR=1 turns the colours off.
`,
		Options:  []Option{asSession},
		Examples: []string{"c2c watch"}},
	{Name: "monitor", C2cd: true, Short: "follow the mail and the sessions, one line for each event",
		Long: `Writes a line for each message and for each session that comes or goes, until no
program reads the lines any longer. It only reads: it takes or marks no message.
Without --alias and C2C_MCP_SESSION_ID it shows all mail, and how the state of
each message changes.
`,
		Options: []Option{
			{Name: "alias", Value: "name", Takes: "alias", Short: "only mail for this session or alias"},
			{Name: "json", Short: "print a line of JSON for each event, errors too"},
		},
		Examples: []string{"c2c monitor --json | head -n 1"}},
}

var sessionList = []Verb{
	{Name: "start", C2cd: true, Everyday: true, Args: "<client> [-- arguments of the client]", First: "client", Short: "run a client as a session with a name",
		Long: `A name has the same mailbox each time. The clients are
{clients}.
To start another program, type its path, or -- after its name. With --continue
or --resume after -- the client goes on with the conversation of this name.
`,
		Options: []Option{
			{Name: "alias", Value: "name", Takes: "alias", Short: "the session's name; without it, one is made up"},
			{Name: "channel", Short: "load c2c as a development channel; the client asks you"},
		},
		Exit:     "once the client runs, its own; else 1 failed, 2 usage",
		Examples: []string{"c2c start --alias amber {client} -- --resume"}},
	{Name: "list", Everyday: true, Short: "list the sessions", Long: `NOW is what a session does, and FOR how long; c2c help states lists the words.
MAIL: how many messages wait; OLDEST: how long; HANDED: how long ago it
was handed mail, which its model may not have read yet.
`,
		Options: []Option{
			{Name: "all", Short: "ended sessions and session ids, too"},
			{Name: "all-hosts", Short: "the sessions on paired machines, too"},
			{Name: "everywhere", Short: "of all your projects and the linked machines; for a person only"},
			inProject, asJSON,
		},
		Examples: []string{"c2c list"}},
	{Name: "whoami", Short: "tell which session this is",
		Options: []Option{asSession, asJSON}, Examples: []string{"c2c whoami"}},
	{Name: "register", Args: "[alias]", Short: "give this session an alias",
		Options: []Option{
			{Name: "role", Value: "words", Short: "what it does, in a few words"},
			{Name: "unattended", Short: "wake it without a terminal, too; =false ends that"},
			asSession, asJSON,
		},
		Examples: []string{"c2c register amber"}},
	{Name: "dnd", Everyday: true, Args: "[on | off]", First: "on off", Short: "do not disturb: mail waits and wakes nobody",
		Long:    "The next turn of the session shows the mail.\n",
		Options: []Option{asSession, asJSON}, Examples: []string{"c2c dnd on --session-id amber"}},
	{Name: "notify", Args: "[alias]", First: "alias", Short: "tell me once when a session is idle, blocked, done or ended",
		Long: `The command ends at once. The notice is a message, which wakes an agent; a
person at a terminal also gets it on the desktop. --wait prints it here.
If the session ends before that, the notice says how: it crashed, was closed
after its turn, was cleared, or never started. An agent itself says that it is
done, with reply --done. Without an alias it lists the requests.
`,
		Options: []Option{
			{Name: "when", Value: "word", Takes: "idle ended blocked done", Short: "idle, ended, blocked (waits for its person) or done"},
			{Name: "desktop", Short: "also as a notification of the desktop"},
			{Name: "wait", Short: "wait here for it, and print it"},
			{Name: "off", Short: "no notice about this session any more"},
			asSession, asJSON,
		},
		Examples: []string{"c2c notify birch --when idle"}},
	{Name: "claim", Args: "[path ...]", First: "file", Short: "tell others which files or which task this session works on",
		Long: `A path may be a folder, or a pattern in quotes: 'src/**/*.go'. A claim is
advice: a hook warns a session that edits a claimed file, in some clients before
the edit, in others after it. If .c2c/claims in the project has the word refuse,
hooks refuse the edit before it is made. Agents of clients without such a hook
use --list. A claim is free at once when its session ends; the session has
it again if it comes back within 10 minutes.
`,
		Options: []Option{
			{Name: "task", Value: "words", Short: "claim a task, not files"},
			{Name: "why", Value: "words", Short: "the reason, shown to sessions that are warned"},
			{Name: "release", Short: "give up claims: these, or all of this session"},
			{Name: "list", Short: "show who works on what, or on these paths"},
			asSession, asJSON,
		},
		Examples: []string{"c2c claim main.go --why 'new flags'"}},
	{Name: "handover", Args: "<gone> <heir>", First: "alias", Short: "give a gone session's name and mail to another",
		Long: "The heir takes the name of the gone session, and gives up its own. c2c informs\n" +
			"the sessions that wrote to the gone session. Mail that it had read stays there.\n",
		Options: []Option{
			{Name: "force", Short: "even if it may still run"},
			dryRun, asJSON,
		},
		Examples: []string{"c2c handover birch coral --dry-run"}},
	{Name: "resume", Args: "<alias> <alias>", First: "alias", Short: "let two agents that c2c has stopped go on",
		Long: "When agents only answer each other, and none works in between, c2c lets only one\n" +
			"message through every 15 minutes, until an agent works. resume hands over the\n" +
			"held mail, and lets the agents continue now. Only a person can do it.\n",
		Options: []Option{asJSON}, Examples: []string{"c2c resume amber birch"}},
}

var together = []Verb{
	{Name: "rooms", Everyday: true, Args: "[verb] [room]", First: "create join leave members list history invite level archive send", Second: "room", Short: "rooms, in which several sessions read and write",
		Long: `A post (c2c send '#NAME' TEXT) wakes members that it names (@birch), with --wake
all; a reply wakes the author. All else comes in a digest with the next turn.

  create, join, leave NAME   NAME@HOST is a room of a paired machine
  list; members, history NAME   all rooms; who is in one, and its posts
  send NAME TEXT             post
  invite NAME ALIAS ...      make sessions members, and tell them
  level NAME LEVEL           what comes by itself: open (each post while you
                             work), quiet (what names you; a digest), muted
  archive NAME               close it, and keep its files
`,
		Options: []Option{
			{Name: "private", Short: "create: only its members read and invite"},
			{Name: "history", Value: "number", Default: "0", Short: "join: show so many old posts"},
			{Name: "limit", Value: "number", Default: "50", Short: "history: at most so many; 0: 1000"},
			asSession, asJSON,
		},
		Examples: []string{"c2c rooms create review"}},
}

var keeping = []Verb{
	{Name: "sweep", Short: "turn the mail of long gone sessions into dead letters",
		Options: []Option{
			{Name: "grace", Value: "duration", Default: "168h", Short: "leave sessions that were used within this time"},
			dryRun, asJSON,
		},
		Examples: []string{"c2c sweep --grace 168h"}},
	{Name: "prune", Short: "remove old archives, and what gone sessions left",
		Options: []Option{
			{Name: "older", Value: "age", Short: "remove what is older: 90d, 2160h"},
			dryRun, asJSON,
		},
		Examples: []string{"c2c prune --older 90d --dry-run"}},
	{Name: "project", Args: "[verb] [project]", First: "allow deny split merge", Short: "show or change what this project shares with others",
		Long: `An agent writes to amber@shop, a session of the project shop, if a person has
allowed that there; answers go back without. A person needs no permission.

  allow, deny NAME   agents of that project may write here, or no longer
  split              this clone shares no mail any more with the other clones
                     of its remote; its sessions must have ended. With --undo
                     it does again
  merge              bring the mail of other roots of this project here; see
                     c2c project merge --help

Without a verb it shows the project. NAME is as for --project.
`,
		Options:  []Option{{Name: "undo", Short: "split: the clone is one of the others again"}, asJSON},
		Examples: []string{"c2c project"},
		Verbs: []Verb{{Name: "project merge", Args: "[directory]", First: "file", Short: "bring a project's mail into one root",
			Long: `Clones of one remote share a root. A project has several if its remote or its
folder has changed; c2c doctor says so. This moves all mail, archives and
sessions into the project's root. Ids stay. A session gets a new alias if its
alias is in use there. All sessions of the other root must have ended, and its
rooms must be archived. Without a directory it moves every other known root of
this project. Nothing takes the roots apart again: only a person at a terminal
can run this, and the root of another project is refused.
`,
			Options:  []Option{dryRun, asJSON},
			Examples: []string{"c2c project merge --dry-run"}}}},
}
