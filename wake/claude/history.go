package claude

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/wake"
)

// sharedDir is a directory in a person's home. If several configurations share their histories, the
// histories are there.
const sharedDir = ".claude-shared"

// entry is a line of a session's history file, as version 2.1.329 of the client writes it. Only
// lines of the conversation have this form. Each entry names the entry before it, and the client
// shows the chain of entries that ends with the last one.
type entry struct {
	ParentUUID  *string `json:"parentUuid"`
	IsSidechain bool    `json:"isSidechain"` // a subagent wrote it
	Type        string  `json:"type"`
	Message     *said   `json:"message,omitempty"`
	UUID        string  `json:"uuid"`
	Timestamp   string  `json:"timestamp"`
	UserType    string  `json:"userType,omitempty"`
	Entrypoint  string  `json:"entrypoint,omitempty"`
	CWD         string  `json:"cwd,omitempty"`
	SessionID   string  `json:"sessionId"`
	Version     string  `json:"version,omitempty"`
	GitBranch   string  `json:"gitBranch,omitempty"`
}

type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Inject adds a message of the user to the history of a session that is not running, and returns
// the path of the history. If err is nil, the message survives a power cut. Only one caller at a
// time may inject into a session.
func Inject(h wake.History) (path string, err error) {
	if !mail.ValidName(h.ID) {
		return "", fmt.Errorf("%q is no session of the client", h.ID)
	}
	dirs := []string{h.Config, filepath.Join(h.Getenv("HOME"), sharedDir)}
	if path, err = findHistory(dirs, h.ID); err != nil {
		return "", err
	}
	if err := runs(dirs, h.ID); err != nil {
		return path, err
	}
	if err := appendTo(path, h); err != nil {
		return path, fmt.Errorf("write to %s: %w", path, err)
	}
	if err := runs(dirs, h.ID); err != nil {
		return path, fmt.Errorf("the message is in %s, but may stay hidden: %w", path, err)
	}
	return path, nil
}

// findHistory returns the path of a session's history. The file is in the folder of the project in
// which the session began.
func findHistory(dirs []string, id string) (path string, err error) {
	var found os.FileInfo
	for _, dir := range dirs {
		projects, err := os.ReadDir(filepath.Join(dir, "projects"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, p := range projects {
			file := filepath.Join(dir, "projects", p.Name(), id+".jsonl")
			info, err := os.Stat(file)
			if err != nil || found != nil && os.SameFile(found, info) { // the same file, because one directory is a link to the other
				continue
			}
			if found != nil {
				return "", fmt.Errorf("session %s has two histories, %s and %s", id, path, file)
			}
			found, path = info, file
		}
	}
	if found == nil {
		return "", fmt.Errorf("session %s has no history in %s", id, strings.Join(dirs, " or "))
	}
	return path, nil
}

// runs returns an error if a process of the client has the session open, because such a process
// does not read the history again.
func runs(dirs []string, id string) error {
	for _, dir := range dirs {
		records, err := os.ReadDir(filepath.Join(dir, "sessions"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, r := range records {
			said, ok := client.ReadClaudeRecord(filepath.Join(dir, "sessions", r.Name()))
			if ok && said.SessionID == id && said.PID > 0 && !errors.Is(syscall.Kill(said.PID, 0), syscall.ESRCH) {
				return fmt.Errorf("process %d has the session open: %w", said.PID, wake.ErrLives)
			}
		}
	}
	return nil
}

// appendTo adds the message of h to the file with one write, so that nothing is lost if another
// process appends at the same time.
func appendTo(path string, h wake.History) (err error) {
	f, size, err := openHistory(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	last, whole, err := leaf(f)
	if err != nil {
		return err
	}
	var random [16]byte
	rand.Read(random[:]) // it never fails
	own := last          // the new entry has the directory and version of the last one
	own.ParentUUID, own.Type, own.SessionID, own.UUID = &last.UUID, "user", h.ID, mail.UUIDOf(4, random)
	own.Message, own.Timestamp = &said{"user", h.Text}, h.Now.UTC().Format("2006-01-02T15:04:05.000Z")
	var line bytes.Buffer
	if !whole { // the client was killed while it wrote the last line
		line.WriteByte('\n')
	}
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(own); err != nil {
		return err
	}
	if _, err = f.Write(line.Bytes()); err == nil {
		err = f.Sync()
	}
	if err != nil { // the disk is full, or the like: half a line would damage the history
		err = errors.Join(err, f.Truncate(size))
	}
	return err
}

// openHistory opens a history for reading and appending, and returns its size in bytes.
func openHistory(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err == nil && info.Size() > atomicfile.MaxFile {
		err = atomicfile.ErrTooLarge
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// leaf returns the last entry of the conversation. The result whole is true if the file ends with a
// whole line.
func leaf(in io.Reader) (last entry, whole bool, err error) {
	lines, whole := bufio.NewReader(in), true
	for {
		line, rerr := lines.ReadBytes('\n')
		if len(line) > 0 {
			whole = line[len(line)-1] == '\n'
		}
		var e struct {
			entry
			Message json.RawMessage `json:"message"` // other kinds of lines may have any form here
		}
		if json.Unmarshal(line, &e) == nil && e.UUID != "" && !e.IsSidechain {
			last = e.entry
		}
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			return last, whole, rerr
		}
	}
	if last.UUID == "" {
		return last, whole, errors.New("it holds no conversation")
	}
	return last, whole, nil
}
