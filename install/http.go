package install

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"c2c/broker/doctor"

	"github.com/tailscale/hujson"
)

// HTTP is the daemon of c2c serve, as a client's configuration names it.
type HTTP struct {
	URL, Token string
	Runs       bool // it answers, and takes the token
}

const (
	projectHeader = "X-C2C-Project" // see broker/httpd
	// windowProject is the directory that a window shows. A client that does not fill it in sends it as it stands, which the
	// daemon takes for nothing said.
	windowProject = "${workspaceFolder}"
	keyHeader     = "Authorization"
	bearer        = "Bearer "
)

// A remoteEntry is an MCP server that is reached over HTTP (SPEC-091, 7).
type remoteEntry struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// isRemote says whether an entry is c2c's over HTTP: at this machine, with a header that nobody else knows.
func isRemote(v *hujson.Value) bool {
	return isDaemon(remoteURL(v)) && v.Find("/headers/"+projectHeader) != nil
}

// remoteURL is where an entry over HTTP leads. Gemini CLI and Qwen Code have a name of their own for it.
func remoteURL(v *hujson.Value) string {
	return cmp.Or(text(v.Find("/url")), text(v.Find("/httpUrl")))
}

// isDaemon says whether a URL may be that of c2c serve.
func isDaemon(s string) bool {
	at, err := url.Parse(s)
	if err != nil || at.Scheme != "http" || at.Path != "/mcp" {
		return false
	}
	host := at.Hostname()
	return host == "127.0.0.1" || host == "localhost" || host == "::1"
}

// addHTTP writes the entry. Of one that is ours it corrects the URL and the key alone: people may have tuned the rest.
func (e serverEditor) addHTTP(d *jsonDoc, v *hujson.Value, ours bool) error {
	key := bearer + e.http.Token
	if !ours {
		return d.put(remoteEntry{e.http.URL, map[string]string{keyHeader: key, projectHeader: windowProject}}, e.key, serverName)
	}
	if text(v.Find("/url")) != e.http.URL {
		if err := d.put(e.http.URL, e.key, serverName, "url"); err != nil {
			return err
		}
	}
	if text(v.Find("/headers/"+keyHeader)) == key {
		return nil
	}
	return d.put(key, e.key, serverName, "headers", keyHeader)
}

// inspectHTTP looks whether an entry leads to the daemon. key is its Authorization, "" if the file does not have it.
func (t target) inspectHTTP(at, key string, f *file, daemon *HTTP) doctor.Finding {
	again := "c2c install " + t.client + " --http puts it right"
	stdio := "c2c install " + t.client + " --http, which takes stdio then"
	private := again
	if !CanHTTP(t.client) {
		again = "put the one that c2c serve status names there"
		stdio = "take the entry out there, and c2c install " + t.client + " takes stdio"
		private = "chmod 600 " + t.path
	}
	problem := func(detail string) doctor.Finding {
		return doctor.Finding{Client: t.client, Status: doctor.Problem, Part: partServer, Path: t.path, Detail: detail}
	}
	elsewhere := key == "" || strings.Contains(key, "$") // in a variable
	switch {
	case daemon == nil || !daemon.Runs:
		return problem("its tools are at " + at + ", and no HTTP daemon answers: c2c serve start; or " + stdio)
	case at != daemon.URL:
		return problem("its tools are at " + at + ", and the HTTP daemon is at " + daemon.URL + "; " + again)
	case !elsewhere && key != bearer+daemon.Token:
		return problem("it has an old token of the HTTP daemon; " + again)
	case !elsewhere && f.mode.Perm()&0o077 != 0:
		return problem(fmt.Sprintf("others may read the token in it (mode %04o); %s", f.mode.Perm(), private))
	}
	return doctor.Finding{Client: t.client, Status: doctor.OK, Part: partServer, Path: t.path, Detail: at}
}

// OverHTTP gives the clients whose tools are set up over HTTP.
func OverHTTP(o Options) (names []string) {
	for _, name := range Clients() {
		_, targets, err := findSetup(name, o)
		if err == nil && slices.ContainsFunc(targets, target.overHTTP) {
			names = append(names, name)
		}
	}
	return names
}

// overHTTP says whether the file has the tools of c2c serve.
func (t target) overHTTP() bool {
	f, err := readFile(t.path)
	return err == nil && isOverHTTP(t.editor, f.data)
}

// isOverHTTP says whether the part of a file that an editor knows leads to c2c serve. Those of hooks know no server.
func isOverHTTP(e editor, data []byte) bool {
	r, ok := e.(interface{ remote(data []byte) bool })
	return ok && r.remote(data)
}

// HTTPByHand says whether a client has its tools over HTTP as a person has written it: install neither makes nor corrects that.
func HTTPByHand(name string, o Options) bool {
	return !CanHTTP(name) && slices.Contains(OverHTTP(o), name)
}

// KeyFiles are the files into which an install over HTTP puts the token, links followed.
func KeyFiles(name string, o Options) (paths []string, err error) {
	_, targets, err := findSetup(name, o)
	for _, t := range targets {
		if t.private {
			path, lerr := followLink(t.path)
			paths, err = append(paths, path), errors.Join(err, lerr)
		}
	}
	return paths, err
}

// CanHTTP says whether c2c install can set a client up over HTTP.
func CanHTTP(name string) bool {
	return slices.ContainsFunc(setups(), func(s setup) bool { return s.name == name && s.overHTTP })
}

// key finds what stands behind Bearer in a file, whatever is quoted there.
var key = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]+`) })

// masked is a file as it may be shown: without anybody's key.
func masked(data []byte) []byte {
	if data == nil || !strings.Contains(strings.ToLower(string(data)), "bearer") {
		return data
	}
	return key().ReplaceAll(data, []byte("${1}…"))
}
