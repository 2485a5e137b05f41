package face

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"c2c/e2e/lab"
)

// TestMain runs the tests where they can reach nothing but this machine.
//
//	C2C_E2E_TOOLS=dirs  the programs of scripts/e2e-tools.txt, where scripts/e2e.sh has installed them, with colons between;
//	                    without it nothing runs here
//	C2C_E2E_CLIENTS=dirs  the same for the AI programs of scripts/e2e-clients.txt
//	C2C_E2E_SCRATCH=dir   where homes and projects are made, not below /tmp
//	C2C_E2E_BIN=dir     c2c and c2cd to test
//	C2C_PAGE_SHOTS=dir  where pictures of the page go, for somebody to look at
func TestMain(m *testing.M) {
	// Not a skip: the CI forbids those, and runs these as a step of its own.
	if os.Getenv("C2C_E2E_TOOLS") == "" {
		fmt.Println("face: the programs of others are off; `make e2e` installs and runs them")
		os.Exit(0)
	}
	flag.Parse()
	keep := slices.Concat(tools(), clients(), []string{os.Getenv("C2C_E2E_BIN"), os.Getenv("C2C_E2E_SCRATCH"), os.Getenv(shotsVariable)})
	status, isolated, err := lab.Isolate(keep...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "face:", err)
	}
	if isolated {
		status = m.Run()
	}
	os.Exit(status)
}

func clients() []string { return filepath.SplitList(os.Getenv("C2C_E2E_CLIENTS")) }

// program is one of those that are tested.
func program(name string) string { return filepath.Join(os.Getenv("C2C_E2E_BIN"), name) }

func tools() []string { return filepath.SplitList(os.Getenv("C2C_E2E_TOOLS")) }

// tool is the folder of one of them, by the beginning of its name.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range tools() {
		if strings.HasPrefix(filepath.Base(dir), name) {
			return filepath.Join(dir, "node_modules")
		}
	}
	t.Fatalf("%s is not in C2C_E2E_TOOLS", name)
	return ""
}

// node is a program for Node.
func node(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), nodeProgram(t), args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin"}
	cmd.Dir = t.TempDir()
	return cmd
}

// daemon is a c2c serve of its own, with its person's home.
type daemon struct {
	t                *testing.T
	home, url, token string
}

func start(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{t: t, home: t.TempDir()}
	out := d.c2c("serve", "start", "--port", "0")
	t.Cleanup(func() { d.c2c("serve", "stop") })
	d.url = urlIn(out)
	token, err := os.ReadFile(filepath.Join(d.home, ".c2c", "http-mcp-token"))
	if err != nil || d.url == "" {
		t.Fatalf("%v, %s", err, out)
	}
	d.token = strings.TrimSpace(string(token))
	return d
}

// urlIn is where the daemon listens, as c2c serve start tells it; "" if it does not.
func urlIn(said string) string {
	for line := range strings.Lines(said) {
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), "url "); ok {
			return url
		}
	}
	return ""
}

func (d *daemon) c2c(args ...string) string {
	d.t.Helper()
	cmd := exec.Command(program("c2c"), args...)
	cmd.Env = []string{"HOME=" + d.home, "PATH=/usr/bin:/bin", "USER=dana"}
	cmd.Dir = d.home
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Errorf("c2c %q: %v, %s", args, err, out)
	}
	return string(out)
}

// typed is what a person sees who types a command in a terminal.
func typed(t *testing.T, home string, args ...string) string {
	t.Helper()
	return typedIn(t, home, home, args...)
}

func typedIn(t *testing.T, home, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program("c2c"), args...)
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "USER=dana", "TERM=xterm"}
	cmd.Dir = dir
	screen, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	shown, _ := io.ReadAll(screen) // an error when the program has ended
	if err := cmd.Wait(); err != nil {
		t.Fatalf("c2c %q: %v, %s", args, err, shown)
	}
	return string(shown)
}

// open is the daemon for a program that can send no token: what comes has it. The proxy's own name
// becomes the daemon's, and any other one goes through as it is.
func (d *daemon) open() string {
	d.t.Helper()
	target, err := url.Parse(d.url)
	if err != nil {
		d.t.Fatal(err)
	}
	var own string
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Host = renamed(r.In.Host, own, target.Host)
		if origin := r.In.Header.Get("Origin"); origin != "" {
			r.Out.Header.Set("Origin", "http://"+renamed(strings.TrimPrefix(origin, "http://"), own, target.Host))
		}
		r.Out.Header.Set("Authorization", "Bearer "+d.token)
	}})
	own = strings.TrimPrefix(proxy.URL, "http://")
	d.t.Cleanup(func() {
		proxy.CloseClientConnections()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		proxy.Close()
	})
	return proxy.URL + target.Path
}

// renamed is the host of a request, with our name for it instead of the proxy's.
func renamed(host, own, ours string) string {
	_, port, _ := strings.Cut(own, ":")
	if name, ok := strings.CutSuffix(host, ":"+port); ok && (name == "localhost" || name == "127.0.0.1") {
		return ours
	}
	return host
}

func nodeProgram(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(tool(t, "node-linux-"), "node-linux-*", "bin", "node"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	return found[0]
}
