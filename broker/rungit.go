package broker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxGitSays is more than a URL or a path has.
const maxGitSays = 64 << 10

// runGit gives what git prints. Package os/exec does this too, and is 170 kB that each hook would load; few commands ask git.
func runGit(dir string, args ...string) (string, error) {
	program, err := findGit(os.Getenv("PATH"))
	if err != nil {
		return "", err
	}
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer nothing.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	// A shell leaves PWD where it was, and git may believe it.
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "PWD=") })
	pid, err := syscall.ForkExec(program, append([]string{"git"}, args...), &syscall.ProcAttr{
		Dir: dir, Env: append(env, "PWD="+dir), Files: []uintptr{nothing.Fd(), w.Fd(), nothing.Fd()}})
	w.Close()
	if err != nil {
		return "", fmt.Errorf("run %q: %w", program, err)
	}
	said, err := io.ReadAll(io.LimitReader(r, maxGitSays))
	r.Close() // git that says more ends of it
	var status syscall.WaitStatus
	for {
		_, werr := syscall.Wait4(pid, &status, 0, nil)
		if werr == syscall.EINTR {
			continue
		}
		if err = errors.Join(err, werr); err == nil && status != 0 {
			err = fmt.Errorf("git %q ended with status %d", args, status)
		}
		return string(said), err
	}
}

// findGit looks for git in the absolute directories of a PATH, as os/exec does: not where we happen to stand.
func findGit(path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		program := filepath.Join(dir, "git")
		if !filepath.IsAbs(program) {
			continue
		}
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return program, nil
		}
	}
	return "", errors.New("there is no git in PATH")
}
