package cli

// The verbs of the daemon that listens for HTTP on this machine.

var face = []Verb{
	{Name: "serve", C2cd: true, Args: "[verb]", First: "start stop restart run status rotate-token open", Short: "the page, and what programs reach over HTTP",
		Long: `Listens on 127.0.0.1 and ::1 only, for programs of this user that show its
token. It serves all projects, as a part of the daemon (c2c daemon). A client
names its directory in the header X-C2C-Project; else that of its process counts
if it is in a repository, or else that of start.

  start, stop            switch it on, or off
  restart                start this part again, with other settings
  run                    the daemon in the foreground, with this part on
  status                 whether it runs and answers, and where; if not, exit 3
  rotate-token           make a new token, and end the logins of the page
  open                   show this project's page in the browser (c2c open)

The port is --port, C2C_HTTP_PORT, the last one, or 8788; 0 takes a free one.
Clients keep the URL, so only the first start takes another port by itself.
`,
		Options: []Option{
			{Name: "port", Value: "number", Short: "where it listens"},
			asJSON,
		},
		Examples: []string{"c2c serve start"},
		Verbs: []Verb{{Name: "serve open", Short: "show the page of this project in the browser",
			Long: `Makes a link that works once, within a minute, and gives it to the browser. The
page shows the sessions and their mail, and its person writes, answers and
decides there. Only a person gets a link: an agent's shell is refused.
`,
			Options:  []Option{{Name: "print", Short: "print the link, and start no browser"}},
			Examples: []string{"c2c open", "c2c open --print"}}}},
	{Name: "allow", Args: "[id]", Short: "allow or refuse a tool for which a session asks permission",
		Long: `Answers a permission dialog of a client with a channel (c2c start --channel).
The dialog stays open in the client, too: the first answer counts. Without an id
it lists the open dialogs. If two sessions have the same id, name one:
amber/abcde. Only a person may answer: c2c refuses an agent's shell, and a
terminal that neither a login nor a terminal program has opened. "Sent" means
that c2c has told the session, not that the tool ran. A client may leave out a
part of a long command: such a request says NOT SHOWN IN FULL, and takes
--partial.
`,
		Options: []Option{
			{Name: "refuse", Short: "the tool does not run"},
			{Name: "partial", Short: "even if the request is not shown in full"},
			asJSON,
		},
		Examples: []string{"c2c allow", "c2c allow abcde"}},
	{Name: "senders", C2cd: true, Args: "<verb> [name] [writer]", First: "allow deny list", Short: "let programs and people write here from outside",
		Long: `They write over HTTP, to c2c serve. Each has a name and a key, printed once: a
token, or the secret of a signature. Their mail comes from external-NAME and has
no authority. A bridge brings mail of many writers, and names them in the header
X-Sender; you let each of them in. Only a person lets others in.

  allow NAME --to ALIAS   let it write to sessions of this project
  allow BRIDGE WRITER     let a writer of a bridge in
  deny NAME [WRITER]      take its key away, or stop one writer of a bridge
  list                    show all, of all projects
`,
		Options: []Option{
			{Name: "to", Value: "aliases", Takes: "alias", Short: "aliases it may write to, with commas; the first is the default"},
			{Name: "verdicts", Short: "it may also answer permission requests of these sessions"},
			{Name: "bridge", Short: "many people write through it"},
			{Name: "github", Short: "it signs as GitHub does"},
			{Name: "standard", Short: "it signs as Standard Webhooks says"},
			asJSON,
		},
		Examples: []string{"c2c senders list", "c2c senders allow ci --to birch"}},
}

// The verbs for mail between machines.
var machines = []Verb{
	{Name: "relay", C2cd: true, Args: "<verb> [words]", First: "add pair allow list status revoke remove project hub start stop restart run", Short: "mail to other machines, and from them",
		Long: `ALIAS@HOST is the session ALIAS in the same project on HOST. Mail for a machine
that sleeps waits here, and arrives in its order, once.

  add USER@HOST    pair with a machine that ssh reaches: it asks once
  pair [TEXT]      without ssh: make an invitation, take one or its answer
  allow HOST       change what it may write to
  list             the paired machines, and what each may write to
  status           the relay, and the way to each machine; exit 3: it is down
  revoke HOST      refuse its mail from now on; remove HOST forgets it
  project NAME     name a project without a remote for other machines
  hub FLEET        make files for a nats-server; see c2c relay hub --help
  start, stop, restart, run   this part of the daemon; mail starts it, too

"c2c relay VERB --help" explains each.
`,
		Options:  []Option{asJSON},
		Examples: []string{"c2c relay add me@devbox"},
		Verbs:    relayVerbs},
}

var (
	hostAs   = Option{Name: "as", Value: "name", Short: "what the other machine is called here"}
	hostName = Option{Name: "name", Value: "name", Short: "what this machine is called there"}
	aliases  = Option{Name: "aliases", Value: "aliases", Takes: "alias", Short: "aliases it may write to, with commas; * all, - none"}
	projects = Option{Name: "projects", Value: "names", Short: "projects it may write in, with commas; this, * all, - none"}
	yes      = Option{Name: "yes", Short: "do not ask"}
)

var relayVerbs = []Verb{
	{Name: "relay add", Args: "<user@host>", Short: "pair with a machine that ssh reaches",
		Long: `Goes there with your own ssh, shows what it will change on both machines, and
asks once. A line in ~/.ssh/authorized_keys there lets a key of c2c start
"c2cd relay --stdio", and nothing else. Each machine may then write to all
sessions of the other one; --aliases and --projects allow less here.
`,
		Options:  []Option{hostAs, hostName, aliases, projects, yes, dryRun, asJSON},
		Examples: []string{"c2c relay add me@devbox", "c2c relay add me@devbox --aliases birch --projects this"}},
	{Name: "relay pair", Args: "[text]", Short: "pair without ssh, by two texts",
		Long: `Without a text it prints an invitation, good for an hour and for one answer. The
other machine gives it to "c2c relay pair", which prints an answer; that goes
to "c2c relay pair" here; with - it reads the text that you paste. Compare the
keys that both show. Until --aliases and --projects say so, it may write to
nobody. Without --ssh, mail goes through a hub. With --yes the answer is taken
without asking, and a new machine gives it without asking: pair TEXT --yes.
`,
		Options: []Option{hostAs, hostName, aliases, projects,
			{Name: "ssh", Value: "user@host", Short: "where the other machine reaches this one"}, yes, dryRun},
		Examples: []string{"c2c relay pair --ssh me@laptop", "c2c relay pair -"}},
	{Name: "relay allow", Args: "<host>", Short: "change what a machine may write to",
		Long:     "An option that is missing leaves its list as it is.\n",
		Options:  []Option{aliases, projects},
		Examples: []string{"c2c relay allow devbox --aliases birch,elm --projects this", "c2c relay allow devbox --aliases -"}},
	{Name: "relay list", Short: "show the paired machines, and what each may write to",
		Options: []Option{asJSON}, Examples: []string{"c2c relay list"}},
	{Name: "relay status", Short: "show the relay, and the way to each machine",
		Long: `For each machine it shows whether there is a link, or what ssh or the hub said;
when it was last heard; and how much mail waits for it, in all projects.
`,
		Exit:    "0 it runs, 3 it does not, 1 failed, 2 usage",
		Options: []Option{asJSON}, Examples: []string{"c2c relay status"}},
	{Name: "relay revoke", Args: "<host>", Short: "refuse the mail of a machine from now on",
		Long:    "c2c remembers its key for that, and removes its line from authorized_keys.\n",
		Options: []Option{dryRun}, Examples: []string{"c2c relay revoke devbox"}},
	{Name: "relay remove", Args: "<host>", Short: "forget a machine",
		Long:    "c2c removes its line from authorized_keys. That machine keeps its own list.\n",
		Options: []Option{dryRun}, Examples: []string{"c2c relay remove devbox"}},
	{Name: "relay project", Args: "<name>", Short: "name a project without a remote for other machines",
		Long:     "Run it in the directory of the project, with the same name on each machine.\n",
		Examples: []string{"c2c relay project notes"}},
	{Name: "relay hub", Args: "<fleet> | <verb> [words]", Short: "have mail go through a nats-server",
		Long: `Writes ./c2c-hub-FLEET: a configuration for each server, written once and then
yours; hosts.conf, which it includes; a file for each host. Again with more
hosts, it adds them. streams DIR makes the streams at the running hub; join FILE
makes this machine use it; remove DIR HOST takes a host out. Reload the servers
after a change of hosts. c2c starts no server, and none of this pairs machines.
`,
		Options: []Option{
			{Name: "hosts", Value: "names", Short: "the hosts of the fleet, with commas"},
			{Name: "listen", Value: "address", Short: "where it listens; default 127.0.0.1:4222"},
			{Name: "url", Value: "url", Short: "what hosts use, if not --listen; a cluster: one a server"},
			{Name: "ca", Value: "file", Short: "your own certificates, by which hosts know the hub"}, yes},
		Examples: []string{"c2c relay hub team --hosts laptop,devbox", "c2c relay hub join host-laptop.json"}},
	{Name: "relay start", Short: "start the relay", Examples: []string{"c2c relay start"}},
	{Name: "relay stop", Short: "end the relay; mail waits until c2c relay start", Examples: []string{"c2c relay stop"}},
	{Name: "relay restart", Short: "start the relay again; other parts of the daemon go on", Examples: []string{"c2c relay restart"}},
	{Name: "relay run", Short: "run the daemon in the foreground, with the relay on", Examples: []string{"c2c relay run"}},
}
