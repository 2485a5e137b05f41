package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/e2e/need"
)

// must runs a command, and gives what it has printed.
func must(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := run(dir, env, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Each package of this machine is installed as its users do it, and what c2c install then writes
// into a client's configuration is a path that is there, is the program and no launcher of it, and
// is there after the next version has come.
func TestPackagesInstall(t *testing.T) {
	if runtime.GOOS != "linux" {
		need.Skip(t, "run it on Linux")
	}
	module := filepath.Join("..", "..")
	if out, err := exec.Command("go", "build", "-modfile="+filepath.Join(module, "scripts", "tools.mod"), "-o", os.DevNull, "github.com/goreleaser/nfpm/v2/cmd/nfpm").CombinedOutput(); err != nil {
		need.Skip(t, "have the modules of scripts/tools.mod: "+string(out))
	}
	out, here := t.TempDir(), target{runtime.GOOS, runtime.GOARCH}
	if err := build(module, out, []target{here}); err != nil {
		t.Fatal(err)
	}
	must(t, out, nil, "sha256sum", "--check", "--strict", "SHA256SUMS")
	only := func(pattern string) string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		return found[0]
	}
	t.Run("archive", func(t *testing.T) {
		t.Parallel()
		top := t.TempDir()
		must(t, top, nil, "tar", "-xzf", only("*.tar.gz"))
		dir, bin := filepath.Join(top, "c2c-"+strings.TrimPrefix(broker.Version, "v")), filepath.Join(top, "bin")
		checkShare(t, filepath.Join(dir, "share"))
		checkInstall(t, filepath.Join(dir, "bin", "c2c"), filepath.Join(dir, "bin", "c2c"))
		if err := os.Mkdir(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(bin, "c2c")
		if err := os.Symlink(filepath.Join(dir, "bin", "c2c"), link); err != nil {
			t.Fatal(err)
		}
		checkInstall(t, link, link)
	})
	t.Run("formula", func(t *testing.T) {
		t.Parallel()
		text, err := os.ReadFile(only("c2c.rb"))
		if err != nil {
			t.Fatal(err)
		}
		sums, err := os.ReadFile(only("SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		archive := only("*.tar.gz")
		sum := ""
		for line := range strings.Lines(string(sums)) {
			if hash, name, _ := strings.Cut(strings.TrimSpace(line), "  "); name == filepath.Base(archive) {
				sum = hash
			}
		}
		for _, want := range []string{`url "file://` + archive + `"`, `sha256 "` + sum + `"`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in the formula:\n%s", want, text)
			}
		}
		dir := t.TempDir()
		must(t, dir, nil, "tar", "--strip-components=1", "-xzf", archive)
		for _, f := range regexp.MustCompile(`"((bin|share)/[^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if found, err := filepath.Glob(filepath.Join(dir, f[1])); err != nil || len(found) == 0 {
				t.Errorf("the formula installs %s, which is not in the archive", f[1])
			}
		}
	})
	t.Run("deb", func(t *testing.T) {
		t.Parallel()
		need.Tools(t, "dpkg")
		root := t.TempDir()
		for _, dir := range []string{"info", "updates"} {
			if err := os.MkdirAll(filepath.Join(root, "var", "lib", "dpkg", dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "var", "lib", "dpkg", "status"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		must(t, root, nil, "dpkg", "--root="+root, "--force-not-root", "--log="+os.DevNull, "--install", only("*.deb"))
		checkShare(t, filepath.Join(root, "usr", "share"))
		checkInstall(t, filepath.Join(root, "usr", "bin", "c2c"), filepath.Join(root, "usr", "bin", "c2c"))
		must(t, root, nil, "dpkg", "--root="+root, "--force-not-root", "--log="+os.DevNull, "--remove", "c2c")
		if _, err := os.Stat(filepath.Join(root, "usr", "bin", "c2c")); err == nil {
			t.Error("it is there after the package was removed")
		}
	})
	t.Run("rpm", func(t *testing.T) {
		t.Parallel()
		need.Tools(t, "rpm")
		if os.Geteuid() != 0 {
			need.Skip(t, "run it as root: rpm enters the directory that it installs into")
		}
		root := t.TempDir()
		must(t, root, []string{"HOME=" + root}, "rpm", "--root", root, "--nodeps", "--noscripts", "--force-debian", "--install", only("*.rpm"))
		checkShare(t, filepath.Join(root, "usr", "share"))
		checkInstall(t, filepath.Join(root, "usr", "bin", "c2c"), filepath.Join(root, "usr", "bin", "c2c"))
	})
	t.Run("npm", func(t *testing.T) {
		t.Parallel()
		need.Tools(t, "npm")
		top := t.TempDir()
		must(t, top, []string{"HOME=" + top}, "npm", "install", "--global", "--prefix", top, "--offline", "--no-audit", "--no-fund", "--ignore-scripts",
			only(here.packageName()+"-0*.tgz"), only(mainPackage+"-0*.tgz"))
		checkInstall(t, filepath.Join(top, "bin", "c2c"), filepath.Join(top, "lib", "node_modules", here.packageName(), "bin", "c2c"))
	})
}

// checkShare looks for what shells and man find without being told, and for all that the README
// links to.
func checkShare(t *testing.T, share string) {
	t.Helper()
	doc := filepath.Join(share, "doc", "c2c")
	readme, err := os.ReadFile(filepath.Join(doc, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]*)`).FindAllSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join(doc, string(link[1]))); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"man/man1/c2c.1", "man/man1/c2c-send.1", "bash-completion/completions/c2c", "zsh/site-functions/_c2c", "fish/vendor_completions.d/c2c.fish"} {
		if info, err := os.Stat(filepath.Join(share, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkInstall runs c2c as the shell finds it, and looks for the path that it gives to a client.
func checkInstall(t *testing.T, program, want string) {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + filepath.Dir(program) + ":/usr/bin:/bin"}
	var version struct{ Version, Commit, Go string }
	if err := json.Unmarshal([]byte(must(t, home, env, program, "version", "--json")), &version); err != nil || version.Version != broker.Version || version.Go != runtime.Version() {
		t.Errorf("version %+v, %v", version, err)
	}
	must(t, home, env, program, "install", "claude")
	written := must(t, home, env, "grep", "-rhoE", "[^ '\"]*/bin/c2c", home)
	for path := range strings.Lines(written) {
		if path = strings.TrimSpace(path); path != want {
			t.Errorf("c2c install writes %s, want %s", path, want)
		}
	}
	if head, err := os.ReadFile(want); err != nil || !bytes.HasPrefix(head, []byte("\x7fELF")) {
		t.Errorf("%s is no program: %v", want, err)
	}
}

// The same sources give the same bytes, wherever and whenever.
func TestPackagesAreReproducible(t *testing.T) {
	t.Parallel()
	var sums [2][]byte
	for i := range sums {
		r := &release{out: t.TempDir(), version: "1.2.3", shared: []file{{name: "doc/c2c/LICENSE", data: []byte("x")}, {name: "man/man1/c2c.1", data: []byte("y")}}}
		if i == 1 { // made in another order
			r.shared[0], r.shared[1] = r.shared[1], r.shared[0]
		}
		programs := []file{{"c2c", []byte("c2c"), true}, {"c2cd", []byte("c2cd"), true}}
		for _, step := range []func() error{
			func() error { return r.archive(targets[0], programs) }, func() error { return r.npm(targets[0], programs) },
			func() error { return r.launcher(targets) }, r.checksums,
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if sums[i], err = os.ReadFile(filepath.Join(r.out, "SHA256SUMS")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("%s and %s", sums[0], sums[1])
	}
}
