package cli

// The verbs that people and agents use every day. Verb explains {client} and the like.

var writing = []Verb{
	{Name: "send", Everyday: true, Args: "<alias> [text | -]", First: "alias", Short: "send a message",
		Long: "It is on disk when the command ends, and waits until its session is there.\n",
		Options: []Option{
			textFile, asSession, kind, urgent, blocking, fail, deferrable, ephemeral, ttl, tellAfter, answerBy,
			{Name: "id", Value: "id", Short: "an id of your own: sending it again does no harm"},
			{Name: "reply-to", Value: "id", Takes: "received", Short: "the message that this one answers"},
			asJSON,
		},
		Examples: []string{"c2c send amber 'The build is green again.'"}},
	{Name: "reply", Everyday: true, Args: "[message-id] [text | -]", First: "received", Short: "answer a message",
		Long: "It goes to the session that wrote the message, whatever its name is now. Without\n" +
			"an id it answers the last message that was handed over. The last 8 characters of\n" +
			"an id are enough. Of several words the first is the id: put a text into quotes.\n",
		Options: []Option{
			textFile, asSession, kind, urgent, blocking, fail, deferrable, ephemeral, ttl, tellAfter, asJSON,
		},
		Examples: []string{"c2c reply 'Done, see main.'", "c2c reply 099a8057 'Yes.'"}},
	{Name: "ask", Everyday: true, Args: "<alias> [text | -]", First: "alias", Short: "ask a question and wait for the answer",
		Long: "The answer is what the other session sends with reply; a later one comes as\n" +
			"mail. c2c waits for no session that has ended, or that waits for you. Keep\n" +
			"--wait below the time that a client's shell gives a command.\n",
		Options: []Option{
			{Name: "wait", Value: "duration", Default: "90s", Short: "how long to wait"},
			textFile, asSession, kind, urgent, blocking, fail, deferrable, ephemeral, ttl, tellAfter, asJSON,
		},
		Examples: []string{"c2c ask amber 'Is the build green?' --wait 5m"}},
	{Name: "send-all", Args: "[text | -]", Short: "send a message to every other session",
		Options: []Option{
			textFile, asSession, kind, urgent, blocking, fail, deferrable, ephemeral, ttl, tellAfter, asJSON,
		},
		Examples: []string{"c2c send-all 'main is frozen'"}},
}

// The options of send, and of similar verbs, that describe a message.
var (
	textFile   = Option{Name: "F", Value: "file", Takes: "file", Short: "read the text from this file; - reads standard input"}
	kind       = Option{Name: "kind", Value: "word", Takes: "message question task review status ack", Short: "message, question, task, review, status or ack"}
	urgent     = Option{Name: "urgent", Short: "mark the message as urgent"}
	blocking   = Option{Name: "blocking", Short: "mark the message as blocking the sender"}
	fail       = Option{Name: "fail", Short: "mark the message as the report of a failure"}
	deferrable = Option{Name: "deferrable", Short: "wake nobody; it is read at the next chance"}
	ephemeral  = Option{Name: "ephemeral", Short: "do not archive it once it was read"}
	ttl        = Option{Name: "ttl", Value: "duration", Short: "hand it over within this time or not at all"}
	answerBy   = Option{Name: "answer-by", Value: "duration", Short: "tell me if it is not answered within this time"}
	tellAfter  = Option{Name: "tell-after", Value: "duration", Takes: "never", Short: "tell me if it is unread so long: 30m, or never"}
)

var reading = []Verb{
	{Name: "poll-inbox", Everyday: true, Short: "take the waiting messages",
		Options: []Option{
			{Name: "wait", Value: "duration", Optional: true, Short: "wait for mail, for so long or for ever"},
			{Name: "check", Short: "print nothing, or --json: exit 0 if mail waits, else 3"},
			{Name: "peek", Short: "leave the messages where they are"},
			asSession, asJSON,
		},
		Examples: []string{"c2c poll-inbox --wait 5m"}},
	{Name: "peek-inbox", Short: "show the waiting messages and leave them",
		Options: []Option{asSession, asJSON}, Examples: []string{"c2c peek-inbox --json"}},
	{Name: "history", Everyday: true, Short: "show what was handed over, newest first",
		Options: []Option{limit, asSession, asJSON}, Examples: []string{"c2c history --limit 5"}},
	{Name: "status", Everyday: true, Args: "<message-id>", First: "message", Short: "tell what became of a message",
		Options: []Option{asJSON}, Examples: []string{"c2c status 099a8057"}},
	{Name: "outbox", Short: "show what was sent, newest first, and what became of it",
		Long:    "Ephemeral messages that were read are not kept, nor what c2c prune has removed.\n",
		Options: []Option{limit, asSession, asJSON}, Examples: []string{"c2c outbox --limit 5"}},
	{Name: "obligations", Short: "what is to be answered, by whom and by when",
		Long: `A question, a task or a review is to be answered in time: within 10 minutes if
it is marked as blocking, 30 if it is urgent, else 4 hours; send --answer-by
sets another time. An answer ends the obligation, unless it is a status, an ack
or a question; so does reply --fail. c2c reminds the receiver when the answer is
due. A person at a terminal sees the obligations of all sessions.
`,
		Options:  []Option{{Name: "all", Short: "those that are over, too"}, asSession, asJSON},
		Examples: []string{"c2c obligations"}},
	{Name: "thread", Args: "<message-id>", First: "message", Short: "show a whole conversation, oldest message first",
		Long:    "What the message answers, the answers to it, and so on, whoever wrote them.\n",
		Options: []Option{asJSON}, Examples: []string{"c2c thread 099a8057"}},
	{Name: "search", Args: "<words>", Short: "look for words in what was sent and received",
		Long: "A message is found if it has all of them, in its text or as an alias. Case does\n" +
			"not count. A person at a terminal searches the mail of all sessions.\n",
		Options: []Option{limit, asSession, asJSON}, Examples: []string{"c2c search build green"}},
	{Name: "watch", C2cd: true, Everyday: true, Short: "sessions and mail on the whole screen, as they change",
		Long: `Shows who is there and what each session does, the mail as it flows, whole
threads, and a search. Sessions that ask their person for something are on top.
From here you write and answer as yourself, ask why a message was not read, and
switch do-not-disturb; f shows some sessions alone. The last line has the keys,
? more of them; the mouse works, too. It reads only: no message is taken or
marked, but your own when you press m. NO_COLOR=1 leaves the colours out.
`,
		Options:  []Option{asSession},
		Examples: []string{"c2c watch"}},
	{Name: "monitor", C2cd: true, Short: "follow the mail and the sessions, one line for each event",
		Long: `Writes a line for each message and for each session that comes or goes, until
nobody reads the lines any more. It reads only: no message is taken or marked.
Without --alias and C2C_MCP_SESSION_ID it tells of all mail, and of what becomes
of it.
`,
		Options: []Option{
			{Name: "alias", Value: "name", Takes: "alias", Short: "only mail for this session or alias"},
			{Name: "all", Short: "with --alias: other mail, too"},
			{Name: "from", Value: "alias", Takes: "alias", Short: "only mail of this sender"},
			{Name: "include-self", Short: "with --alias: also what that session has sent"},
			{Name: "archive", Short: "tell of a message when it is read, not when it is stored"},
			{Name: "full-body", Also: "body", Short: "the whole text, not the first 80 bytes of it"},
			{Name: "drains", Short: "tell when nothing waits in a mailbox any more"},
			{Name: "sweeps", Short: "tell when a mailbox is removed"},
			{Name: "broker-root", Also: "root", Value: "directory", Takes: "file", Short: "of another root than this one"},
			{Name: "json", Short: "print a line of JSON for each event, errors too"},
		},
		Examples: []string{"c2c monitor --json | head -n 1"}},
	{Name: "dead-letter", Short: "show the dead letters, oldest first",
		Long:    "Mail that is handed over to nobody any more: it has expired, or c2c sweep has\nfound that its session is long gone.\n",
		Options: []Option{limit, asJSON}, Examples: []string{"c2c dead-letter --limit 5"}},
}

var sessionList = []Verb{
	{Name: "start", C2cd: true, Everyday: true, Args: "<client> [-- arguments of the client]", First: "client", Short: "run a client as a session with a name",
		Long: `The mailbox of that name is the same each time. The clients are
{clients}.
Another program is started with its path, or with -- behind it.

With --full-delivery short mail itself is typed into an empty prompt, while no
MCP server of c2c runs in the client. The client takes a peer's words for yours
then: SECURITY.md tells what is done about that.
`,
		Options: []Option{
			{Name: "alias", Value: "name", Takes: "alias", Short: "the session's name; without it, one is made up"},
			{Name: "channel", Short: "load c2c as a development channel; the client asks"},
			{Name: "full-delivery", Short: "type short mail itself; needs --alias"},
			{Name: "unattended", Short: "refused: call c2c register --unattended in it"},
		},
		Exit:     "once the client runs, its own; else 1 failed, 2 usage",
		Examples: []string{"c2c start --alias amber {client} -- --resume"}},
	{Name: "list", Everyday: true, Short: "list the sessions", Long: `NOW is what a session does, and FOR how long; c2c help states tells the words.
MAIL waits there, OLDEST for how long; READ is how long ago mail was read.
`,
		Options: []Option{
			{Name: "all", Short: "ended sessions and session ids, too"},
			{Name: "all-hosts", Short: "the sessions on paired machines, too"},
			asJSON,
		},
		Examples: []string{"c2c list"}},
	{Name: "whoami", Everyday: true, Short: "tell which session this is",
		Options: []Option{asSession, asJSON}, Examples: []string{"c2c whoami"}},
	{Name: "register", Everyday: true, Args: "[alias]", Short: "give this session an alias",
		Options: []Option{
			{Name: "role", Value: "words", Short: "what it does, in a few words"},
			{Name: "unattended", Short: "wake it without a terminal, too; =false ends that"},
			asSession, asJSON,
		},
		Examples: []string{"c2c register amber"}},
	{Name: "dnd", Everyday: true, Args: "[on | off]", First: "on off", Short: "do not disturb: mail waits and wakes nobody",
		Long:    "The next turn of the session shows the mail.\n",
		Options: []Option{asSession, asJSON}, Examples: []string{"c2c dnd on"}},
	{Name: "handover", C2cd: true, Args: "<gone> <heir>", First: "alias", Short: "give a gone session's name and mail to another",
		Long: "The heir takes the name of the gone session, and gives up its own. c2c tells the\n" +
			"sessions that wrote to it. The mail that it had read stays where it is.\n",
		Options: []Option{
			{Name: "force", Short: "also when it may still run"},
			dryRun, asJSON,
		},
		Examples: []string{"c2c handover birch coral --dry-run"}},
	{Name: "resume", Args: "<alias> <alias>", First: "alias", Short: "let two agents that c2c has stopped go on",
		Long: "When agents only answer each other, and none works in between, c2c lets one\n" +
			"message through every 15 minutes until one works. This hands over the held mail\n" +
			"and lets them go on now. Only a person can do it.\n",
		Options: []Option{asJSON}, Examples: []string{"c2c resume amber birch"}},
}

var keeping = []Verb{
	{Name: "sweep", C2cd: true, Short: "turn the mail of long gone sessions into dead letters",
		Options: []Option{
			{Name: "grace", Value: "duration", Default: "168h", Short: "leave sessions that were used within this time"},
			dryRun, asJSON,
		},
		Examples: []string{"c2c sweep --grace 168h"}},
	{Name: "prune", C2cd: true, Short: "remove old archives, and what gone sessions left",
		Options: []Option{
			{Name: "older", Value: "age", Short: "remove what is older: 90d, 2160h"},
			dryRun, asJSON,
		},
		Examples: []string{"c2c prune --older 90d --dry-run"}},
	{Name: "stats", C2cd: true, Short: "how soon questions, tasks and reviews are read and answered",
		Long: `Of all that are open, and of those that are over some thousands: how many were
sent, pushed (its session was rung for it), observed (read), acknowledged (any
answer has come), answered, and answered in time; and how long each took since
it was sent, half of them, 95 of 100, and the longest. A session is full if it
could be rung when it was asked, and degraded if not.
`,
		Options:  []Option{asJSON},
		Examples: []string{"c2c stats"}},
	{Name: "migrate-root", C2cd: true, Args: "[directory]", First: "file", Short: "bring a project's mail into one root",
		Long: `Clones of one remote share a root. Older versions, and the original c2c, made
one for each spelling of the remote's URL: c2c doctor tells when a project has
several. This moves all mail, archives and sessions into the project's root.
Ids stay. A session whose alias is taken there gets another. Sessions of the
other root must have ended. Without a directory: every other root that this
project is known to have.
`,
		Options:  []Option{dryRun, asJSON},
		Examples: []string{"c2c migrate-root --dry-run"}},
}
