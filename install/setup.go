package install

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"c2c/client"
	"c2c/doctor"
)

// A setup says how one client is configured. Each client has a file with its own.
type setup struct {
	name string // as in client
	// files are those that may hold a part of ours, in the order in which they are written: what a
	// hook entry names before the entry.
	files func(o Options) []target
	// inProject says that files knows Options.InProject.
	inProject bool
	// overHTTP says that files knows Options.HTTP.
	overHTTP bool
	// notes are for the person, after files were changed; nil for none.
	notes func(o Options) []string
	// allows says whether the model calls c2c's own tools without asking its person, by a rule that install has written; nil
	// for a client without such a rule.
	allows func(o Options) bool
	// inspect looks at what the files cannot tell by themselves; nil for nothing.
	inspect func(o Options) []doctor.Finding
	// plugin gives the file by which its person has switched our marketplace plugin on, "" when there is none; nil where we have none. With one,
	// inspect looks at it, too.
	plugin func(o Options) string
	// event is one to which its hook answers with the mail of the session that the environment names;
	// empty when the environment names none.
	event string
}

// A target is a file that holds a part of ours, and the editor that knows
// which part.
type target struct {
	client     string
	overDaemon bool // install can set the client up over HTTP
	path       string
	mode       fs.FileMode // of a file that we create, 0600 when zero
	private    bool        // nobody else may read it, whatever its mode was
	other      bool        // for another scope than the one asked for: only looked at and cleaned
	with       string      // the option of c2c install for this scope, or empty
	editor     editor
}

// An editor puts our part into the text of a file, takes it out again, and finds it there. add and strip return their input
// when there is nothing to do.
type editor interface {
	// kind names the editor in undo records: two files of one kind have the same editor.
	kind() string
	// add returns data with our part; data is nil when there is no file.
	add(path string, data []byte) ([]byte, error)
	// strip returns data without our part. Containers that become empty go
	// too, but not those that original (nil: not known) had.
	strip(path string, data, original []byte) ([]byte, error)
	// find looks for our part in a file as it is now.
	find(f *file) (part, error)
}

// A part is what a file has of ours.
type part struct {
	there    bool // an entry has our name, perhaps that of another implementation
	ours     bool // this c2c wrote it
	overHTTP bool // it leads to c2c serve
	// report says what a person should know of it; nil if that is nothing.
	report func(t target, o Options) []doctor.Finding
}

func (p part) findings(t target, o Options) []doctor.Finding {
	if !p.there || p.report == nil {
		return nil
	}
	return p.report(t, o)
}

// hasOurs reports whether data has a part that this c2c wrote.
func hasOurs(e editor, data []byte) bool {
	p, err := e.find(&file{data: data})
	return err == nil && p.ours
}

// kindOfServers begins the kind of a file that may hold the MCP server.
const kindOfServers = "mcp-"

// kindScript is a file that is ours as a whole, with its mode.
const kindScript = "script"

// top is the top of the repository around dir, where the files of a project are looked for, or dir itself.
func top(dir string) string {
	for at := dir; filepath.IsAbs(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return dir
}

// configDir is where the client called name has its configuration, and whether a variable says so.
func configDir(name string, o Options) (dir string, set bool) {
	p, _ := client.Find(name)
	return p.Config(func(variable string) string {
		if variable == "HOME" {
			return o.Home
		}
		return o.Getenv(variable)
	})
}

// firstWord is what a shell command line runs: its first word, without the quotes around all of it.
func firstWord(line string) string {
	for _, quote := range []string{"'", `"`} {
		if rest, quoted := strings.CutPrefix(line, quote); quoted {
			word, _, _ := strings.Cut(rest+" ", quote+" ")
			return strings.ReplaceAll(word, `'\''`, "'")
		}
	}
	word, _, _ := strings.Cut(line, " ")
	return word
}

// hookLine is what the command of a hook runs, without the test before it whether that is there.
func hookLine(command string) string {
	if _, line, found := strings.Cut(command, " ] || exec "); found {
		return line
	}
	return command
}

// shellQuote returns s as one word of a POSIX shell, unquoted where possible
// because people read these files.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// pluginName is what clients call it: the plugin's name, then the marketplace's.
const pluginName = "c2c@c2c"

// find looks for our part in the file as it is now.
func (t target) find() (part, error) {
	f, err := readFile(t.path)
	if err != nil {
		return part{}, err
	}
	return t.editor.find(f)
}

// held reports whether the file has a part that PlanInstall has written.
func (t target) held() bool {
	p, err := t.find()
	return err == nil && p.ours
}

// overHTTP reports whether the file has the tools of c2c serve.
func (t target) overHTTP() bool {
	p, err := t.find()
	return err == nil && p.overHTTP
}
