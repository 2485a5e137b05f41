// Command dist builds the packages of c2c: archives, .deb, .rpm and npm packages, with their
// checksums. The same sources give the same bytes: every file in a package has the time of the
// commit and belongs to root.
//
//	go run ./e2e/dist [directory]          for Linux and macOS, amd64 and arm64, into dist
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/broker"
)

// target is a system for which there are packages.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

func main() {
	out := "dist"
	if len(os.Args) > 1 {
		out = os.Args[1]
	}
	if err := build(".", out, targets); err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		os.Exit(1)
	}
}

// file is one file of a package.
type file struct {
	name string // below the top of the package
	data []byte
	exec bool
}

// release holds the parts that all packages have in common.
type release struct {
	module  string // the directory of the sources
	out     string
	version string // without the v
	time    time.Time
	shared  []file // man pages, completions and documents, for the directory share
	made    []string
}

// build makes the packages of some systems.
func build(module, out string, targets []target) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "c2c-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &release{module: module, out: out, version: strings.TrimPrefix(broker.Version, "v")}
	if r.time, err = commitTime(module); err != nil {
		return err
	}
	if err := r.share(scratch); err != nil {
		return err
	}
	for _, t := range targets {
		programs, err := r.compile(t, filepath.Join(scratch, t.os+"-"+t.arch))
		if err == nil {
			err = r.archive(t, programs)
		}
		if err == nil && t.os == "linux" {
			err = r.system(t, programs, scratch)
		}
		if err == nil {
			err = r.npm(t, programs)
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
	}
	if err := r.launcher(targets); err != nil {
		return err
	}
	if err := r.formula(targets); err != nil {
		return err
	}
	return r.checksums()
}

// commitTime returns the time that all files in the packages get.
func commitTime(module string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := run(module, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, err
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

func run(dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("run %s %q: %w: %s", name, args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, err
}

// compile builds both programs as the Makefile does, and returns them as files.
func (r *release) compile(t target, dir string) (programs []file, err error) {
	_, err = run(r.module, []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS="},
		"go", "build", "-trimpath", "-tags=nethttpomithttp2", "-ldflags=-s -w", "-o", dir+"/", "./cmd/c2c", "./cmd/c2cd")
	for _, name := range []string{"c2c", "c2cd"} {
		data, rerr := os.ReadFile(filepath.Join(dir, name))
		err = errors.Join(err, rerr)
		programs = append(programs, file{name, data, true})
	}
	return programs, err
}

// share fills r.shared: it makes the man pages, runs a program built for this machine, which writes
// the completions, and adds the documents.
func (r *release) share(scratch string) error {
	dir := filepath.Join(scratch, "here")
	if _, err := r.compile(target{runtime.GOOS, runtime.GOARCH}, dir); err != nil {
		return err
	}
	env := []string{"HOME=" + scratch}
	for name, data := range manPages() {
		r.shared = append(r.shared, file{name: "man/man1/" + name, data: data})
	}
	for shell, place := range map[string]string{"bash": "bash-completion/completions/c2c", "zsh": "zsh/site-functions/_c2c", "fish": "fish/vendor_completions.d/c2c.fish"} {
		data, err := run(scratch, env, filepath.Join(dir, "c2c"), "completion", shell)
		if err != nil {
			return err
		}
		r.shared = append(r.shared, file{name: place, data: data})
	}
	module := os.DirFS(r.module)
	docs, err := fs.Glob(module, "docs/*.*")
	if err != nil {
		return err
	}
	pages, err := fs.Glob(module, "docs/[ci]*/*") // docs/commands and docs/inside
	if err != nil {
		return err
	}
	for _, name := range slices.Concat([]string{"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}, docs, pages) {
		data, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		r.shared = append(r.shared, file{name: "doc/c2c/" + name, data: data})
	}
	return nil
}

// write writes a package into the directory of the packages.
func (r *release) write(name string, data []byte) error {
	r.made = append(r.made, name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// checksums writes SHA256SUMS, in the format of sha256sum -c.
func (r *release) checksums() error {
	var lines strings.Builder
	slices.Sort(r.made)
	for _, name := range r.made {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}
