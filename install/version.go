package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"c2c/client"
	"c2c/internal/format"
	"c2c/internal/proc"
)

// Program reports which version of a client is on the PATH, and with which one c2c was tested.
// Another version is no fault: clients change often, and seldom what c2c needs. The finding is a
// warning at worst, because an editor may run another copy of the client that is not on the PATH.
func Program(ctx context.Context, name string, o Options) format.Finding {
	path, err := proc.LookPath(client.ProgramOf(name), o.Getenv)
	f := format.Finding{Client: name, Status: format.Warning, Part: "program", Path: path}
	p, _ := client.Find(name)
	switch {
	case p.Tested == "":
		f.Status, f.Detail = format.OK, "c2c could not be tested with it, and follows its documentation"
		return f
	case err != nil:
		f.Detail = "not on the PATH"
		return f
	}
	version := installedVersion(path, name)
	if version == "" {
		version, err = askVersion(ctx, path, o)
	}
	switch {
	case err != nil:
		f.Detail = fmt.Sprintf("does not print its version: %v", err)
	default:
		f.Status, f.Detail = format.OK, fmt.Sprintf("version %s; c2c was tested with %s", version, p.Tested)
	}
	return f
}

// versionNumber is compiled at its first use: each session starts an MCP server, which never needs
// it.
var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+\.\d+[-+.\w]{0,40}`) })

// installedVersion finds the version in files beside the program; "" if it finds none. It does not
// run the client, because even with --version the client would leave files in the person's home.
func installedVersion(path, name string) string {
	program, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	// Some installers name the program after its version.
	if base := filepath.Base(program); versionNumber().FindString(base) == base {
		return base
	}
	for dir := filepath.Dir(program); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		var pkg struct{ Name, Version string }
		if json.Unmarshal(Content(filepath.Join(dir, "package.json")), &pkg) != nil || pkg.Version == "" {
			continue
		}
		if !strings.Contains(pkg.Name, name) {
			return "" // the package.json of another package, which only includes the program
		}
		version, _, _ := strings.Cut(pkg.Version, "-linux-") // npm adds such a suffix for one system's package
		version, _, _ = strings.Cut(version, "-darwin-")
		return versionNumber().FindString(version)
	}
	return ""
}

// versionTime bounds `<client> --version`.
const versionTime = 10 * time.Second

// askVersion runs the client with --version, in a scratch home directory that it then removes.
func askVersion(ctx context.Context, path string, o Options) (version string, err error) {
	home, err := os.MkdirTemp("", "c2c-doctor-")
	if err != nil {
		return "", fmt.Errorf("make a scratch home: %w", err)
	}
	defer os.RemoveAll(home)
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + o.Getenv("PATH")}
	cmd.WaitDelay = time.Second // a child of the client may keep the pipe open
	out, err := cmd.Output()
	if version = versionNumber().FindString(string(out)); version != "" {
		return version, nil
	}
	if err == nil {
		err = fmt.Errorf("it printed %.80q", out)
	}
	return "", err
}
