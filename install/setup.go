package install

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"c2c/client"
	"c2c/doctor"
)

// A setup says how to configure one client. Each client has a file with its setup.
type setup struct {
	name string // the client's name, as in package client
	// files returns the files that may hold a part of ours, in the order in which c2c writes them: a
	// script before the hook entry that names it.
	files func(o Options) []target
	// inProject means that files handles Options.InProject.
	inProject bool
	// overHTTP means that files handles Options.HTTP.
	overHTTP bool
	// notes returns notes for the person, after an install has changed files; nil for none.
	notes func(o Options) []string
	// allows reports whether a rule that install has written lets the model call c2c's own tools without asking the person;
	// nil for a client without such a rule.
	allows func(o Options) bool
	// inspect checks what the files of targets do not show; nil for nothing.
	inspect func(o Options) []doctor.Finding
	// plugin returns the file in which the person has switched our marketplace plugin on, or ""; nil if the client has no such
	// plugin. If it has one, inspect checks it, too.
	plugin func(o Options) string
	// event is an event whose hook answers with the mail of the session that the environment names;
	// empty if the environment names none.
	event string
}

// A target is a file that holds a part of ours, and the editor that knows
// which part.
type target struct {
	client     string
	overDaemon bool // install can set the client up over HTTP
	path       string
	mode       fs.FileMode // for a new file, 0600 when zero
	private    bool        // only the owner may read it, whatever its mode was
	other      bool        // in another scope than the requested one: c2c only checks and cleans it
	with       string      // the option of c2c install for this scope, or empty
	editor     editor
}

// An editor puts our part into the text of a file, takes it out again, and finds it there. add and strip return their input
// if there is nothing to do.
type editor interface {
	// kind names the editor in undo records: files of one kind have the same editor.
	kind() string
	// add returns data with our part; data is nil if there is no file.
	add(path string, data []byte) ([]byte, error)
	// strip returns data without our part, and without containers that this
	// leaves empty, except those that original (nil: not known) had.
	strip(path string, data, original []byte) ([]byte, error)
	// find looks for our part in a file as it is now.
	find(f *file) (part, error)
}

// A part is what a file holds that is ours.
type part struct {
	there    bool // an entry has our name, perhaps that of another implementation
	ours     bool // this c2c wrote it
	overHTTP bool // it is an entry for c2c serve
	// report returns what a person should know about it; nil for nothing.
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

// kindOfServers is the prefix of the kind of a file that may hold the MCP server.
const kindOfServers = "mcp-"

// kindScript is the kind of a file that is ours as a whole, with its mode.
const kindScript = "script"

// top returns the top of the repository around dir, or dir itself. Clients look for a project's files there.
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

// configDir returns the directory of a client's configuration; set reports that a variable names it.
func configDir(name string, o Options) (dir string, set bool) {
	p, _ := client.Find(name)
	return p.Config(func(variable string) string {
		if variable == "HOME" {
			return o.Home
		}
		return o.Getenv(variable)
	})
}

// firstWord returns the program of a shell command line: its first word, without the quotes around the whole word.
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

// hookLine returns the command line of a hook, without the test before it that the program exists.
func hookLine(command string) string {
	if _, line, found := strings.Cut(command, " ] || exec "); found {
		return line
	}
	return command
}

// shellQuote returns s as one word of a POSIX shell, unquoted if possible,
// because people read these files.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// pluginName is the clients' name for it: the plugin's name, then the marketplace's.
const pluginName = "c2c@c2c"

// find looks for our part in the file at t.path.
func (t target) find() (part, error) {
	f, err := readFile(t.path)
	if err != nil {
		return part{}, err
	}
	return t.editor.find(f)
}

// held reports whether the file has a part that this c2c has written.
func (t target) held() bool {
	p, err := t.find()
	return err == nil && p.ours
}

// overHTTP reports whether the file has an entry for c2c serve.
func (t target) overHTTP() bool {
	p, err := t.find()
	return err == nil && p.overHTTP
}
