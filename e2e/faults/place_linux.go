package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// place is a scratch home, root and project. Only one goroutine may use it.
type place struct {
	bin, dir string
	roots    map[string]string // the roots of sessions that are not in the root named root
	mail     []letter          // the mail that waited before the command, for the session of the scenario
	gone     []letter          // the mail that this session had read before the command
	person   files             // the person's files before c2c was installed
	before   files             // all files before the command
	edited   files             // the person's files after a run without a fault
}

func newPlace(bin, dir string) (*place, error) {
	p := &place{bin: bin, dir: dir}
	for _, name := range []string{"home", "project"} {
		if err := os.MkdirAll(p.path(name), 0o700); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// root returns the name of the root in which a session is.
func (p *place) root(as string) string { return cmp.Or(p.roots[as], "root") }

// patience is much longer than any command takes. A command that takes longer counts as hung.
const patience = 30 * time.Second

// command runs c2c or c2cd as a session. The first word is the program.
func (p *place) command(ctx context.Context, as, stdin string, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = p.path("project")
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = []string{"HOME=" + p.path("home"), "PATH=" + p.bin + ":/usr/bin:/bin", "C2C_MCP_BROKER_ROOT=" + p.path(p.root(as))}
	if as != "" {
		cmd.Env = append(cmd.Env, "C2C_MCP_SESSION_ID="+as)
	}
	return cmd
}

// program adds the directory of the programs to a command's first word.
func (p *place) program(words []string) []string {
	return append([]string{filepath.Join(p.bin, words[0])}, words[1:]...)
}

// run runs a command without a fault, and returns its output. The first word is c2c or c2cd.
func (p *place) run(as string, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := p.command(ctx, as, "", p.program(words)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(errs.String()))
	}
	return string(out), err
}

// steps runs commands until one fails. Each line is "session: c2c words".
func (p *place) steps(lines ...string) error {
	for _, line := range lines {
		as, words, _ := strings.Cut(line, ": ")
		if _, err := p.run(as, strings.Fields(words)...); err != nil {
			return err
		}
	}
	return nil
}

// files is a tree of files by name. A directory has no data, and its name ends in a slash.
type files map[string]file

type file struct {
	mode fs.FileMode
	data string
}

// read returns all files below some directories of the place.
func (p *place) read(below ...string) (files, error) {
	found := files{}
	for _, dir := range below {
		err := filepath.WalkDir(p.path(dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(path, p.dir+"/")
			if d.IsDir() {
				found[name+"/"] = file{mode: info.Mode().Perm()}
				return nil
			}
			if d.Type() == fs.ModeSymlink {
				text, err := os.Readlink(path)
				found[name] = file{d.Type(), text}
				return err
			}
			data, err := os.ReadFile(path)
			found[name] = file{info.Mode().Perm(), string(data)}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// restore makes the place contain exactly this tree.
func (p *place) restore(tree files) error {
	if err := os.RemoveAll(p.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	for name, f := range tree {
		path := p.path(name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else if err == nil && f.mode == fs.ModeSymlink {
			err = os.Symlink(f.data, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(f.data), f.mode)
		}
		if err != nil {
			return err
		}
	}
	for name, f := range tree {
		if f.mode == fs.ModeSymlink {
			continue
		}
		if err := os.Chmod(p.path(name), f.mode); err != nil {
			return err
		}
	}
	return nil
}

// litter returns the files that a killed writer may leave, and that a later writer must remove.
func litter(tree files, damaged bool) (left []string) {
	for name := range tree {
		inLease := strings.HasSuffix(filepath.Dir(name), ".lease") && !strings.HasSuffix(name, "/")
		corrupt := strings.Contains(name, ".corrupt-") && !damaged
		if strings.Contains(name, ".tmp.") || strings.Contains(name, ".c2c-install-") || corrupt || inLease {
			left = append(left, name)
		}
	}
	return left
}
