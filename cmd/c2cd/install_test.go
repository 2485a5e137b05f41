package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/creack/pty"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// shop is a home in which clients are set up.
type shop struct {
	t    *testing.T
	home string
	env  map[string]string // besides the two that run sets
	c2c  string            // the program, where there must be one
}

func (s shop) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, cwd: s.home, c2c: cmp.Or(s.c2c, "/opt/c2c"), getenv: func(name string) string {
		return cmp.Or(s.env[name], map[string]string{"HOME": s.home, "PATH": "/nowhere"}[name])
	}}
	code = a.main(s.t.Context(), args)
	return code, out.String(), errs.String()
}

func (s shop) write(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func TestADamagedClientKeepsNoOtherFromItsTurn(t *testing.T) {
	s := shop{t: t, home: t.TempDir()}
	s.write(".claude/settings.json", "{")
	s.write(".codex/config.toml", "model = 'x'\n")
	check := func(code int, out, errs, done string) {
		t.Helper()
		if code != 1 || !strings.Contains(out, "codex: "+done) || !strings.Contains(errs, "c2c: claude: ") || !strings.Contains(errs, "settings.json") {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
	}
	code, out, errs := s.run("install")
	check(code, out, errs, "set up; it is not installed here")
	s.write(".claude/settings.json", "{")
	code, out, errs = s.run("uninstall")
	if check(code, out, errs, "taken out"); !strings.Contains(out, "claude: not all is undone") || strings.Contains(out, "claude: taken out") {
		t.Errorf("it says %s", out)
	}
	s.write(".codex/hooks.json", "{")
	if code, _, errs := s.run("install"); code != 1 || strings.Count(errs, "\nc2c: codex: ") != 1 {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// program puts an executable on the PATH.
func (s shop) program(name string) {
	s.t.Helper()
	s.write("bin/"+name, "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(s.home, "bin", name), 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.env["PATH"] = filepath.Join(s.home, "bin")
}

// One line for each client of what was done and what is left to do, and a command that works here.
// The changes are shown to a person who asks for them, behind a summary.
func TestInstallSaysWhatItDidWhatIsLeftAndWhatToTry(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{}}
	s.program("claude")
	s.program("codex")
	want := `claude: set up
codex: set up; start codex and choose "Trust all and continue"
to do: add /opt to your PATH
Try: /opt/c2c start --alias amber claude
`
	const cost = "c2c adds up to 4,000 bytes of tools and instructions to each session\n"
	const first = cost + "tools of c2c run without asking (--ask: they ask)\n" // before it writes
	const dry = first + "claude: files: 7 new\ncodex: files: 3 new\nnothing was changed (--dry-run)"
	short := dry + "; add --verbose to see the text of c2c's own files\nnew file " + s.home + "/.claude/hooks/c2c-inbox-check.sh ("
	if code, out, errs := s.run("install", "--dry-run"); code != 0 || !strings.HasPrefix(out, short) || !strings.Contains(out, "+++ "+s.home+"/.claude.json") || strings.Contains(out, "Try:") || errs != "" {
		t.Errorf("--dry-run: exit %d, %s%s", code, out, errs)
	}
	if code, out, errs := s.run("install", "--dry-run", "--verbose"); code != 0 || !strings.HasPrefix(out, dry+"\nnew file mode 0755\n") || !strings.Contains(out, "\n+++ "+s.home+"/.claude/hooks/c2c-inbox-check.sh\n") || errs != "" {
		t.Errorf("--dry-run --verbose: exit %d, %s%s", code, out, errs)
	}
	// Qwen Code has no file that is c2c's own.
	if _, out, _ := s.run("install", "--dry-run", "qwen"); !strings.Contains(out, "nothing was changed (--dry-run)\nnew file mode 0600\n") {
		t.Errorf("--dry-run qwen: %s", out)
	}
	if code, out, errs := s.run("install"); code != 0 || out != first+want || errs != "" {
		t.Errorf("exit %d, %s%s, want\n%s", code, out, errs, first+want)
	}
	want = strings.ReplaceAll(want, "set up", "nothing to change")
	if code, out, _ := s.run("install", "--verbose"); code != 0 || out != want {
		t.Errorf("again: exit %d, %s", code, out)
	}
	if code, out, _ := s.run("install", "--verbose", "--ask"); code != 0 || !strings.HasPrefix(out, cost) || strings.Contains(out, "without asking") || !strings.Contains(out, "+++ "+s.home+"/.claude/settings.json") || !strings.Contains(out, "claude: set up; it asks before") {
		t.Errorf("--ask: exit %d, %s", code, out)
	}
	for _, name := range []string{"claude", "codex"} { // who has chosen that is not asked again, and told how to change it
		want := name + ": nothing to change; it asks before the model calls a tool of c2c (after c2c uninstall " + name + " and a new install it does not)"
		if code, out, _ := s.run("install", name); code != 0 || !strings.Contains(out, want) {
			t.Errorf("after --ask: exit %d, %s", code, out)
		}
	}
	if code, out, _ := s.run("uninstall"); code != 0 || out != "claude: taken out; a session that still runs gets no mail\ncodex: taken out; a session that still runs gets no mail\n" {
		t.Errorf("uninstall before any mail: exit %d, %s", code, out)
	}
	s.run("install")
	if err := os.Mkdir(filepath.Join(s.home, ".c2c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := s.run("uninstall", "--dry-run"); code != 0 || strings.Contains(out, "the mail stays in") {
		t.Errorf("uninstall --dry-run: exit %d, %s", code, out)
	}
	if code, out, _ := s.run("uninstall", "codex"); code != 0 || out != "codex: taken out; a session that still runs gets no mail\n" {
		t.Errorf("uninstall codex: exit %d, %s", code, out)
	}
	if code, out, _ := s.run("uninstall"); code != 0 || out != "claude: taken out; a session that still runs gets no mail\nthe mail stays in "+s.home+"/.c2c until you delete that directory\n" {
		t.Errorf("uninstall: exit %d, %s", code, out)
	}
	if code, out, _ := s.run("uninstall"); code != 0 || out != "c2c is set up in no client: there is nothing to take out\nthe mail stays in "+s.home+"/.c2c until you delete that directory\n" {
		t.Errorf("uninstall again: exit %d, %s", code, out)
	}
	relay := filepath.Join(s.home, ".c2c", "relay")
	if err := errors.Join(os.Mkdir(relay, 0o700), os.WriteFile(filepath.Join(relay, "hosts.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{{"uninstall"}, {"uninstall", "--dry-run"}} {
		if _, out, _ := s.run(more...); !strings.Contains(out, "the list of paired machines stays") {
			t.Errorf("%q with paired machines: %s", more, out)
		}
	}
	s.program("c2c")
	if _, out, _ := s.run("install", "codex"); !strings.Contains(out, "to do: your PATH has another c2c first, "+s.home+"/bin/c2c; put /opt before it\nTry: /opt/c2c start codex\n") {
		t.Errorf("with another c2c: %s", out)
	}
}

// A client that runs already is named, with what makes a session of it; one that is a session is
// not.
func TestAClientThatRanBeforeInstallIsNamed(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{}}
	s.program("claude")
	shop := filepath.Join(s.home, "shop")
	if err := os.Mkdir(shop, 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(home string) (*exec.Cmd, func()) {
		cmd := exec.Command("bash", "-c", "exec -a claude cat")
		cmd.Dir, cmd.Env = shop, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		terminal, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(terminal, "hello")
		lines := bufio.NewReader(terminal)
		for n := 0; err == nil && n < 2; { // what is typed, and cat, which says it once more
			var line string
			if line, err = lines.ReadString('\n'); strings.Contains(line, "hello") {
				n++
			}
		}
		return cmd, func() { cmd.Process.Kill(); cmd.Wait(); terminal.Close() }
	}
	other, endOther := start("/elsewhere")
	defer endOther()
	cmd, end := start(s.home)
	defer end()
	want := fmt.Sprintf("claude runs in ~/shop already (pid %d): type a prompt there, or restart it\n", cmd.Process.Pid)
	if _, out, _ := s.run("install"); !strings.Contains(out, "claude: set up\n"+want) || strings.Contains(out, fmt.Sprint(other.Process.Pid)) {
		t.Errorf("no %q in %s", want, out)
	}
	if _, out, _ := s.run("install"); strings.Contains(out, "already") {
		t.Errorf("nothing was changed, and it says %s", out)
	}
	s.run("uninstall")
	b, err := broker.OpenHere(func(name string) string { return map[string]string{"HOME": s.home}[name] }, shop, broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Attach(t.Context(), callers.Caller{Client: "claude", ClientID: "u-1", PID: cmd.Process.Pid}); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := s.run("install"); strings.Contains(out, "already") {
		t.Errorf("it is a session, and it says %s", out)
	}
	for n, want := range []string{3: "\n1 more client was started before this: restart it\n", 4: "\n2 more clients were started before this: restart them\n"} {
		_, end := start(s.home)
		defer end()
		s.run("uninstall")
		if _, out, _ := s.run("install"); want != "" && !strings.Contains(out, want) {
			t.Errorf("%d run, no %q in %s", n+1, want, out)
		}
	}
}

// npm puts a script into the PATH that starts the program of the package beside it.
func TestTheLauncherOfNpmIsNoOtherC2C(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{}}
	s.program("claude")
	for name, text := range map[string]string{"lib/node_modules/c2c-mail/bin/c2c": "#!/bin/sh\n", "lib/node_modules/c2c-mail/node_modules/c2c-mail-linux-x64/bin/c2c": "program",
		"lib/node_modules/c2c-mail-linux-x64/bin/c2c": "program"} {
		s.write(name, text)
		if err := os.Chmod(filepath.Join(s.home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../lib/node_modules/c2c-mail/bin/c2c", filepath.Join(s.home, "bin", "c2c")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"lib/node_modules/c2c-mail/node_modules/c2c-mail-linux-x64", "lib/node_modules/c2c-mail-linux-x64"} {
		s.c2c = filepath.Join(s.home, dir, "bin", "c2c")
		if _, out, _ := s.run("install"); strings.Contains(out, "another c2c") || !strings.Contains(out, "Try: c2c start") {
			t.Errorf("%s: %s", dir, out)
		}
	}
	s.c2c = "/opt/c2c"
	if _, out, _ := s.run("install"); !strings.Contains(out, "another c2c") {
		t.Error(out)
	}
}

// Its program and its configuration may be gone.
func TestUninstallTakesOutWhatAClientThatIsGoneHas(t *testing.T) {
	s := shop{t: t, home: t.TempDir()}
	if code, _, errs := s.run("install", "--project", "opencode"); code != 0 {
		t.Fatal(errs)
	}
	for range 2 {
		if code, out, errs := s.run("uninstall"); code != 0 {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		if left, err := os.ReadDir(filepath.Join(s.home, ".opencode")); len(left) > 0 {
			t.Errorf("it leaves %v, %v", left, err)
		}
	}
}

// Nothing is installed and nothing is written.
func TestTheServersEntryIsPrintedForAnyClient(t *testing.T) {
	s := shop{t: t, home: t.TempDir()}
	s.env = map[string]string{"C2C_MCP_BROKER_ROOT": "/mail \"here\""}
	code, out, errs := s.run("install", "--print", "mcp")
	want := `{
  "mcpServers": {
    "c2c": {
      "type": "stdio",
      "command": "/opt/c2c",
      "args": [
        "mcp"
      ],
      "env": {
        "C2C_MCP_BROKER_ROOT": "/mail \"here\""
      }
    }
  }
}
`
	if code != 0 || out != want || errs != "" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if left, err := os.ReadDir(s.home); err != nil || len(left) > 0 {
		t.Errorf("the home has %v, %v", left, err)
	}
	for _, args := range [][]string{{"--print", "hooks"}, {"--print", "mcp", "claude"}} {
		if code, out, errs := s.run(append([]string{"install"}, args...)...); code != 2 || out != "" || !strings.Contains(errs, "prints mcp alone") {
			t.Errorf("%q: exit %d, %s%s", args, code, out, errs)
		}
	}
	// The client may start its servers in another directory.
	s.env = map[string]string{"C2C_MCP_BROKER_ROOT": "mail"}
	if _, out, _ := s.run("install", "--print", "mcp"); !strings.Contains(out, `"C2C_MCP_BROKER_ROOT": "`+s.home+`/mail"`) {
		t.Errorf("it prints %s", out)
	}
}

func TestAPluginForAllIsNotAskedForAlone(t *testing.T) {
	s := shop{t: t, home: t.TempDir()}
	code, _, errs := s.run("install", "--install-global-plugin", "opencode")
	if left, err := os.ReadDir(s.home); code != 2 || !strings.Contains(errs, "needs --project") || err != nil || len(left) > 0 {
		t.Errorf("exit %d: %sthe home has %v, %v", code, errs, left, err)
	}
}

func TestHelpIsAnAnswerAndAWrongFlagIsOneLineWithAHint(t *testing.T) {
	s := shop{t: t, home: t.TempDir()}
	for _, v := range cli.Verbs() {
		if !v.C2cd {
			continue
		}
		verb := v.Name
		code, help, errs := s.run(verb, "--help")
		if code != 0 || errs != "" || !strings.HasPrefix(help, "usage: c2c "+verb) || !strings.Contains(help, "\nexit status: ") || strings.Contains(help, "\n  -global") {
			t.Errorf("%s --help: exit %d, %s%s", verb, code, help, errs)
		}
		want := "c2c: " + verb + " has no option --nosuch\nc2c: hint: "
		if code, out, errs := s.run(verb, "--nosuch"); code != 2 || out != "" || !strings.HasPrefix(errs, want) || strings.Count(errs, "\n") != 2 {
			t.Errorf("%s --nosuch: exit %d, %s%s", verb, code, out, errs)
		}
	}
	if code, _, errs := s.run("mcp", "word"); code != 2 || !strings.Contains(errs, `unexpected "word"`) {
		t.Errorf("mcp word: exit %d, %s", code, errs)
	}
	if _, help, _ := s.run("uninstall", "--help"); strings.Contains(help, "--global") || !strings.Contains(help, "  --dry-run ") {
		t.Errorf("uninstall shows %s", help)
	}
}

// What is only to be known is no to do, and what one has to act on stands last in a report.
func TestNotesAreNoToDoAndProblemsStandLast(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{}}
	s.program("codex")
	s.program("copilot")
	if code, out, _ := s.run("install"); code != 0 || !strings.Contains(out, "\ncopilot: note: it now runs every extension") || strings.Contains(out, "copilot: to do") {
		t.Errorf("install: exit %d, %s", code, out)
	}
	_, out, _ := s.run("doctor", "--verbose")
	if strings.LastIndex(out, "\nok ") > strings.Index(out, "\nproblem ") {
		t.Errorf("doctor: %s", out)
	}
}

func TestClientsThatAreNotThereAreTold(t *testing.T) {
	s := shop{t: t, home: t.TempDir()}
	var programs, dirs []string
	for _, p := range client.All() {
		programs, dirs = append(programs, client.ProgramOf(p.Name)), append(dirs, "~/"+p.ConfigDir)
	}
	where := "no client found: no " + cli.AnyOf(programs) + " on PATH, and no directory " + cli.AnyOf(dirs)
	if code, _, errs := s.run("install"); code != 1 || !strings.Contains(errs, where+"\nc2c: hint: c2c install claude sets it up all the same\n") {
		t.Errorf("install: exit %d, %s", code, errs)
	}
	if code, out, _ := s.run("doctor", "--verbose"); code != 1 || !strings.Contains(out, "problem  clients: "+where+"; install one of them, then run c2c install\n") {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
	if code, _, errs := s.run("start", "claude"); code != 1 || errs != "c2c: claude is not installed or not on PATH; c2c start knows "+strings.Join(client.Names(), ", ")+"\nc2c: hint: install it, or add its folder to PATH; c2c doctor tells which clients are found\n" {
		t.Errorf("start: exit %d, %s", code, errs)
	}
	if _, _, errs := s.run("start", "cursor"); !strings.Contains(errs, "cursor-agent is not installed") {
		t.Errorf("start: %s", errs)
	}
	s.write(".claude/settings.json", "{}")
	if code, out, _ := s.run("doctor", "--verbose"); code != 0 || !strings.Contains(out, "ok       claude c2c: not set up: c2c install claude sets it up\n") || !strings.Contains(out, "warning  clients: c2c is set up in none of claude: run c2c install, or start sessions with c2c start, which says what its client then lacks\n") || strings.Contains(out, "hook") || strings.Contains(out, "claude program") {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
	// Doctor does not tell somebody to install who has started sessions with c2c start.
	s.write(".local/state/c2c/install/started/claude/settings.json", "{}")
	if code, out, _ := s.run("doctor"); code != 0 || strings.Contains(out, "set up in none") {
		t.Errorf("doctor after c2c start: exit %d, %s", code, out)
	}
}

// Whichever part of a set-up is gone: doctor names the install that repairs it, and that install
// does.
func TestWhatDoctorFindsMissingIsPutRightByTheInstallThatItNames(t *testing.T) {
	for _, name := range client.Names() {
		s := shop{t: t, home: t.TempDir(), env: map[string]string{}}
		s.program(name)
		s.program("c2c")
		s.c2c = filepath.Join(s.home, "bin", "c2c")
		setUp := func() {
			t.Helper()
			if code, out, errs := s.run("install", name); code != 0 {
				t.Fatalf("exit %d, %s%s", code, out, errs)
			}
		}
		report := func() (missing string) {
			t.Helper()
			_, out, _ := s.run("doctor", "--verbose")
			for line := range strings.Lines(out) {
				wrong := strings.HasPrefix(line, "problem  "+name) || strings.HasPrefix(line, "warning  "+name) // which it is where the client is not installed
				if wrong && strings.Contains(line, "c2c install "+name) {
					missing += line
				}
			}
			return missing
		}
		setUp()
		if got := report(); got != "" {
			t.Errorf("%s is set up, and doctor says %s", name, got)
		}
		for _, path := range strings.Fields(written(t, s.home)) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if report() == "" {
				t.Errorf("%s without %s: doctor tells of nothing", name, path)
			}
			setUp()
			if got := report(); got != "" {
				t.Errorf("%s without %s: after the install doctor says %s", name, path, got)
			}
		}
	}
}

// written lists the files of clients below a home.
func written(t *testing.T, home string) string {
	t.Helper()
	out, err := exec.Command("find", home, "-type", "f", "-not", "-path", "*/.local/*", "-not", "-path", "*/bin/*").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A kill came between the note for what runs and the first change.
func TestAnUninstallThatWasCutOffIsToldAndCured(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{}}
	s.write(".c2c/x", "")
	s.program("claude")
	s.run("install", "claude")
	if err := sessions.MarkUninstalled(func(name string) string { return map[string]string{"HOME": s.home}[name] }, "claude", ""); err != nil {
		t.Fatal(err)
	}
	told := func() bool {
		_, out, _ := s.run("doctor", "--verbose")
		return strings.Contains(out, "problem  claude uninstall: c2c uninstall was interrupted") && strings.Contains(out, "c2c install claude repairs it")
	}
	if !told() {
		t.Error("doctor tells of nothing")
	}
	if s.run("install", "claude"); told() {
		t.Error("it is installed again, and doctor still tells of it")
	}
	if s.run("uninstall", "claude"); told() {
		t.Error("it is uninstalled whole, and doctor tells of it")
	}
}

// Whoever deletes the mail while a client runs finds the directory there again: c2c's programs in
// the client write to it.
func TestUninstallNamesTheClientsThatStillWriteThere(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // nothing tells there
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".c2c"), 0o700); err != nil {
		t.Fatal(err)
	}
	stays := "the mail stays in " + home + "/.c2c until you delete that directory"
	wantText(t, "none runs", runIn(t, home, "uninstall"), stays+"\n")
	writeFakeServer(t, home)
	server := startFakeServer(t, home)
	first := fmt.Sprintf(stays+"; first end %s (process %d), where c2c still runs", "c2cd.test", os.Getpid())
	wantText(t, "one runs", runIn(t, home, "uninstall"), first+"\n")
	hooks := filepath.Join(home, ".local/state/c2c/install/started/claude/hooks.sh") // of a session of c2c start
	if err := os.MkdirAll(filepath.Dir(hooks), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hooks, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantText(t, "one runs with files of its own", runIn(t, home, "uninstall"), first+"; then run c2c uninstall again\n")
	if _, err := os.Stat(hooks); err != nil {
		t.Errorf("a session has lost its files: %v", err)
	}
	server.Process.Kill()
	server.Wait()
	wantText(t, "it has ended", runIn(t, home, "uninstall"), stays+"\n")
	if _, err := os.Stat(hooks); err == nil {
		t.Error("the files of a session that has ended are still there")
	}
}
