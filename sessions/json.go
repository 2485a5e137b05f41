package sessions

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"c2c/internal/fields"
)

var errNoJSON = errors.New("not JSON")

// parse replaces json.Unmarshal, whose first call analyses the type. This would make each send and
// each hook a fifth slower.
func (f *Facts) parse(data []byte) error {
	if !json.Valid(data) {
		return errNoJSON
	}
	return fields.Each(data, func(name string, value json.RawMessage) error {
		to := f.member(name)
		switch {
		case to == nil:
			f.others.add(name, value)
			return nil
		case string(value) == "null":
			return nil
		}
		return setMember(to, value)
	})
}

// text is the content of the file.
func (f *Facts) text() ([]byte, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	all := Row(data)
	f.others.each(func(name string, value json.RawMessage) { all.add(name, value) })
	var text bytes.Buffer
	err = json.Indent(&text, all, "", "  ")
	text.WriteByte('\n')
	return text.Bytes(), err
}

func setMember(to any, value json.RawMessage) (err error) {
	switch to := to.(type) {
	case *string:
		*to, err = fields.Text(value)
	case *State:
		return setMember((*string)(to), value)
	case *[]string:
		*to, err = fields.Texts(value)
	case *bool:
		if *to = string(value) == "true"; !*to && string(value) != "false" {
			err = errors.New("neither true nor false")
		}
	case *int:
		*to, err = strconv.Atoi(string(value))
	case *int64:
		*to, err = strconv.ParseInt(string(value), 10, 64)
	case *float64:
		*to, err = strconv.ParseFloat(string(value), 64)
	case *time.Time:
		err = to.UnmarshalJSON(value)
	default:
		err = json.Unmarshal(value, to)
	}
	return err
}

// member returns a pointer to the field with a JSON name, or nil.
func (f *Facts) member(name string) any {
	switch name {
	case "alias":
		return &f.Alias
	case "alias_since":
		return &f.AliasSince
	case "former_aliases":
		return &f.Former
	case "client":
		return &f.Client
	case "client_ids":
		return &f.ClientIDs
	case "pid":
		return &f.PID
	case "pid_start_time":
		return &f.StartTime
	case "pid_namespace":
		return &f.Namespace
	case "started":
		return &f.Started
	case "named":
		return &f.Named
	case "proposed":
		return &f.Proposed
	case "pane":
		return &f.Pane
	case "last_ring":
		return &f.LastRing
	case "role":
		return &f.Role
	case "dnd":
		return &f.Quiet
	case "unattended":
		return &f.Unattended
	case "transport":
		return &f.Transport
	case "transport_at":
		return &f.TransportAt
	case "conversation":
		return &f.Conversation
	case "mod_start_time":
		return &f.ModStart
	case "ringer_pid":
		return &f.RingerPID
	case "ringer_start":
		return &f.RingerStart
	case "lacks":
		return &f.Lacks
	case "unseen":
		return &f.Unseen
	case "left":
		return &f.Left
	case "put_back":
		return &f.PutBack
	case "move_from":
		return &f.MoveFrom
	case "started_by":
		return &f.StartedBy
	case "in_rooms":
		return &f.InRooms
	case "took_over":
		return &f.TookOver
	}
	return f.memberOfTurn(name)
}

func (f *Facts) memberOfTurn(name string) any {
	switch name {
	case "turn":
		return &f.Turn
	case "turn_at":
		return &f.TurnAt
	case "turn_by":
		return &f.TurnBy
	case "failure":
		return &f.Failure
	case "failed_at":
		return &f.FailedAt
	}
	return nil
}
