package install

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/tailscale/hujson"

	"c2c/install/confedit"
	"c2c/internal/format"
)

const (
	projectHeader = "X-C2C-Project" // as in package serve
	// A client replaces windowProject by the directory that its window shows. Some clients send the
	// text as it is; the daemon ignores it then.
	windowProject = "${workspaceFolder}"
	keyHeader     = "Authorization"
	bearer        = "Bearer "
)

// A remoteEntry is the entry of an MCP server that clients reach over HTTP (SPEC-091, 7).
type remoteEntry struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// isRemote reports whether an entry leads to c2c over HTTP: its URL is on this machine, and it has
// a header that only c2c uses.
func isRemote(v *hujson.Value) bool {
	return isDaemon(remoteURL(v)) && v.Find("/headers/"+projectHeader) != nil
}

// remoteURL returns the URL of an entry over HTTP. In Gemini CLI and Qwen Code the URL has another
// key.
func remoteURL(v *hujson.Value) string {
	return cmp.Or(confedit.Text(v.Find("/url")), confedit.Text(v.Find("/httpUrl")))
}

// isDaemon reports whether a URL may belong to c2c serve.
func isDaemon(s string) bool {
	at, err := url.Parse(s)
	if err != nil || at.Scheme != "http" || at.Path != "/mcp" {
		return false
	}
	host := at.Hostname()
	return host == "127.0.0.1" || host == "localhost" || host == "::1"
}

// inspectHTTP checks an entry with the URL at. The argument key is the entry's Authorization
// header, "" if the file has no such header.
func (t target) inspectHTTP(at, key string, f *File, daemon *HTTP) format.Finding {
	again := "c2c install " + t.client + " --http repairs it"
	stdio := "c2c install " + t.client + " --http, which then sets up stdio"
	private := again
	if !t.overDaemon {
		again = "replace it by the one that c2c serve status shows"
		stdio = "remove the entry from the file, and c2c install " + t.client + " sets up stdio"
		private = "chmod 600 " + t.path
	}
	wrong := func(detail string) format.Finding { return problem(t.client, partServer, t.path, detail) }
	elsewhere := key == "" || strings.Contains(key, "$") // the file has no key, or the name of a variable instead
	switch {
	case daemon == nil || !daemon.Runs:
		return wrong("its tools are at " + at + ", and no HTTP daemon answers: c2c serve start; or " + stdio)
	case at != daemon.URL:
		return wrong("its tools are at " + at + ", and the HTTP daemon is at " + daemon.URL + "; " + again)
	case !elsewhere && key != bearer+daemon.Token:
		return wrong("its token is not that of the HTTP daemon; " + again)
	case !elsewhere && f.Mode.Perm()&0o077 != 0:
		return wrong(fmt.Sprintf("other users may read the token in the file (mode %04o); %s", f.Mode.Perm(), private))
	}
	return t.good(partServer, at)
}
