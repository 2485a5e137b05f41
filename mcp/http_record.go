package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"c2c/sessions"
)

// record is the file of an MCP session that has a mailbox. It lets the client keep its mailbox when
// the daemon restarts. The file's modification time is at most about touchEvery older than the
// session's last request.
type record struct {
	ID            string `json:"id"`
	Root          string `json:"root"`
	RootBy        string `json:"root_by,omitempty"`
	SID           string `json:"sid"`
	Client        string `json:"client"` // the name that the client gives itself
	Protocol      string `json:"protocol"`
	SharesProcess bool   `json:"apart,omitempty"` // another session has the mailbox of this process, so the process does not identify the caller
	process
}

// process is a client's process. The start time distinguishes it from a later process with the same
// id.
type process struct {
	PID       int    `json:"pid,omitempty"` // 0: c2c cannot see the process
	StartTime int64  `json:"pid_start_time,omitempty"`
	Namespace string `json:"pid_namespace,omitempty"`
}

func (h *host) processOf(pid int) process {
	if p, err := h.processes.Find(pid); err == nil && pid != 0 {
		return process{pid, p.Start, h.processes.Namespace()}
	}
	return process{PID: pid}
}

// hasEnded reports whether a process has certainly ended. It returns false for a process that c2c
// cannot see.
func (h *host) hasEnded(p process) bool {
	if p.PID == 0 || p.StartTime == 0 || !sessions.SameNamespace(p.Namespace, h.processes.Namespace()) {
		return false
	}
	now, err := h.processes.Find(p.PID)
	return err == nil && now.Start != p.StartTime || errors.Is(err, sessions.ErrNoProcess)
}

const (
	recordSuffix = ".json"
	maxRecord    = 16 << 10
	touchEvery   = time.Hour // how much older than the session's last request a record's time may be
)

// readRecord reads the record of a session that is not open. ok is false if there is no valid
// record, or if the record is too old.
func (h *host) readRecord(id string) (k record, ok bool) {
	if sessions.CheckID(id) != nil { // the id is a part of the file's name
		return k, false
	}
	info, err := h.cfg.Sessions.Stat(id + recordSuffix)
	if err != nil || h.cfg.Now().Sub(info.ModTime()) > h.limits.Bound {
		return k, false
	}
	data, err := h.cfg.Sessions.ReadMost(id+recordSuffix, maxRecord)
	if err != nil || json.Unmarshal(data, &k) != nil || k.ID != id || k.SID == "" || k.Root == "" {
		return k, false
	}
	return k, true
}

func (h *host) writeRecord(k record) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return h.cfg.Sessions.Write(k.ID+recordSuffix, append(data, '\n'))
}

func (h *host) removeRecord(name string) error {
	if err := h.cfg.Sessions.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// touchRecord updates a record's time if it is more than touchEvery older than the session's last
// request.
func (h *host) touchRecord(id string, used time.Time) {
	name := id + recordSuffix
	if info, err := h.cfg.Sessions.Stat(name); err == nil && used.Sub(info.ModTime()) > touchEvery {
		if err := h.cfg.Sessions.Touch(name, used); err != nil {
			h.cfg.Log.Warn("the last use of an MCP session is not recorded", "err", err)
		}
	}
}

// sweepRecords removes the records that are too old, of sessions that are not open.
func (h *host) sweepRecords(now time.Time, isOpen func(id string) bool) error {
	names, err := h.cfg.Sessions.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, recordSuffix)
		if !ok || isOpen(id) {
			continue
		}
		if info, err := h.cfg.Sessions.Stat(name); err == nil && now.Sub(info.ModTime()) > h.limits.Bound {
			if err := h.removeRecord(name); err != nil {
				return err
			}
		}
	}
	return nil
}
