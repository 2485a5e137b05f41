package install

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"c2c/client"
	"c2c/internal/format"
)

// A setup describes how to configure one client. Each client has a file with its setup.
type setup struct {
	name string // the client's name, as in package client; the client's file leaves it out
	// files returns the files that may hold a part of ours, in the order in which c2c writes them:
	// a script comes before the hook entry that names it.
	files func(o Options) []target
	// inProject means that files respects Options.InProject.
	inProject bool
	// overHTTP means that files respects Options.HTTP.
	overHTTP bool
	// notes returns notes for the person after an install that has changed files; nil: the client
	// needs none.
	notes func(o Options) []string
	// allows reports whether a rule from c2c install lets the model call c2c's tools without asking
	// the person; nil: the client has no such rule.
	allows func(o Options) bool
	// inspect checks settings that the editors do not check; nil: the client has no such settings.
	inspect func(o Options) []format.Finding
	// plugin returns the file in which the person has turned our marketplace plugin on, or ""; nil:
	// the client has no such plugin. inspect checks the plugin too.
	plugin func(o Options) string
	// alone says how to set the client up for one session alone, with files in dir; nil: the client
	// takes c2c only from its configuration. args are the person's own arguments.
	alone func(o Options, dir string, args []string) (Alone, error)
	// byVariable means that a hook at PostToolUse answers with the mail of the session that a
	// variable of the environment names.
	byVariable bool
}

// A target is a file that may hold a part of ours, and the editor for that part.
type target struct {
	client     string
	overDaemon bool // install can set the client up over HTTP
	path       string
	mode       fs.FileMode // the mode of a new file; 0: 0600
	private    bool        // only the owner may read the file, whatever its mode was
	other      bool        // the file belongs to a scope that was not requested: c2c adds nothing there, but checks it and removes our part
	project    string      // the top of the project, if the file is only for this project; otherwise empty
	editor     editor
	base       []byte // of SetUpAlone: the content to put our part into
}

// An editor puts our part into the text of a file, removes it again, and finds it there. If there
// is nothing to do, add and strip return data as it is.
type editor interface {
	// kind names the editor in undo records. Files of the same kind have the same editor.
	kind() string
	// add returns data with our part; data is nil if there is no file.
	add(path string, data []byte) ([]byte, error)
	// strip returns data without our part. It also removes the containers that are then empty,
	// unless original has them. original is the content before the first edit by c2c, nil if it is
	// not known.
	strip(path string, data, original []byte) ([]byte, error)
	// find looks for our part in the present content of a file.
	find(f *File) (part, error)
}

// A part describes our part of a file.
type part struct {
	there    bool // there is an entry with our name, perhaps of another implementation
	ours     bool // this c2c wrote the entry
	overHTTP bool // the entry has the URL of the HTTP daemon
	// report returns findings about the part; nil: there are none.
	report func(t target, o Options) []format.Finding
}

func (p part) findings(t target, o Options) []format.Finding {
	if !p.there || p.report == nil {
		return nil
	}
	return p.report(t, o)
}

// hasOurs reports whether data has a part that this c2c wrote.
func hasOurs(e editor, data []byte) bool {
	p, err := e.find(&File{Data: data})
	return err == nil && p.ours
}

// kindOfServers begins the kind of every file that may have the entry of our MCP server.
const kindOfServers = "mcp-"

// kindScript is the kind of a file of which every byte is ours, and its mode, too.
const kindScript = "script"

// top returns the top of the repository that contains dir, or dir itself. Clients look for a
// project's files there.
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

// configDir returns the directory of a client's configuration. set says whether a variable of the
// environment names that directory.
func configDir(name string, o Options) (dir string, set bool) {
	p, _ := client.Find(name)
	return p.Config(func(variable string) string {
		if variable == "HOME" {
			return o.Home
		}
		return o.Getenv(variable)
	})
}

// firstWord returns the program of a shell command line: its first word, without the quotes around
// the word.
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

// hookLine returns the command line of a hook, without the test that the program exists.
func hookLine(command string) string {
	if _, line, found := strings.Cut(command, " ] || exec "); found {
		return line
	}
	return command
}

// shellQuote returns s as one word of a POSIX shell. It adds quotes only if they are needed,
// because people read these files.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// pluginName is the clients' name for our plugin: PLUGIN@MARKETPLACE.
const pluginName = "c2c@c2c"

// find looks for our part in the file at t.path.
func (t target) find() (part, error) {
	f, err := ReadFile(t.path)
	if err != nil {
		return part{}, err
	}
	return t.editor.find(f)
}

// mayAdd returns an error if our part must not be put into f, which is t's file. r is the undo
// record of t, or nil.
func (t target) mayAdd(f *File, r *record) error {
	switch {
	case t.outside(f):
		return fmt.Errorf("edit %s: a link leads out of the project, to %s; put a file in the place of the link, or install without --project", t.path, f.Target)
	case t.editor.kind() == kindScript && r == nil && !Blank(f.Data) && !bytes.Contains(f.Data, []byte("c2c")) && !hasOurs(t.editor, f.Data):
		return fmt.Errorf("write %s: what is there is not from c2c; move it away, then run again", t.path)
	}
	return nil
}

// outside reports whether a link leads from t, a file of a project, to f, a file outside of the
// project. A repository can contain links, and its author must not choose which file of the person
// c2c edits.
func (t target) outside(f *File) bool {
	if t.project == "" {
		return false
	}
	below, err := filepath.Rel(RealPath(t.project), RealPath(f.Target))
	return err != nil || !filepath.IsLocal(below)
}

// projectOf returns the top of the project of a recorded file, or "" if the file is for all
// projects. The argument targets has the files of another project.
func projectOf(targets []target, r *record) string {
	stem := func(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) } // a client reads settings.json or settings.jsonc
	for _, t := range targets {
		at, found := strings.CutSuffix(stem(r.Path), stem(strings.TrimPrefix(t.path, t.project)))
		if found && t.project != "" && t.editor.kind() == r.Kind {
			return at
		}
	}
	return ""
}

// held reports whether the file has a part that this c2c (not the OCaml c2c) has written.
func (t target) held() bool {
	p, err := t.find()
	return err == nil && p.ours
}

// overHTTP reports whether the file has an entry with the URL of the HTTP daemon (c2c serve).
func (t target) overHTTP() bool {
	p, err := t.find()
	return err == nil && p.overHTTP
}
