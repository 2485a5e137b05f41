package rooms

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

const (
	block   = 64 << 10
	maxLine = 1 << 20 // the longest line of a post, however its text is escaped
)

// history is an open history. It is empty if file is nil.
type history struct {
	file *atomicfile.Handle
	size int64
}

func (r *Room) history() (h history, err error) {
	h.file, err = r.dir.OpenHandle(historyName, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return history{}, nil
	}
	if err != nil {
		return history{}, fmt.Errorf("read the history of room %q: %w", r.Name, err)
	}
	h.size = h.file.Size()
	return h, nil
}

func (h history) Close() {
	if h.file != nil {
		h.file.Close()
	}
}

// back calls the function see with each line between the places from and end, and with the place
// after that line, newest first, until see returns false. A line includes its newline. Text after
// the last newline is ignored, because another program may be writing it.
func (h history) back(from, end int64, see func(line []byte, at int64) bool) error {
	var carry []byte // the beginning of the block that was read before, up to its first newline
	first := true
	for end > from {
		start := max(from, end-block)
		data := make([]byte, end-start, int(end-start)+len(carry))
		if _, err := h.file.ReadAt(data, start); err != nil && err != io.EOF {
			return err
		}
		data = append(data, carry...)
		if first {
			last := bytes.LastIndexByte(data, '\n')
			if last < 0 && start > from {
				if carry = data; len(carry) > maxLine {
					carry = nil
				}
				end = start
				continue
			}
			data, first = data[:last+1], false
		}
		lines := data
		if start > from {
			i := bytes.IndexByte(data, '\n')
			if carry, lines = data[:i+1], data[i+1:]; len(carry) > maxLine {
				carry = []byte{'\n'} // no post is that long
			}
		}
		at := start + int64(len(data))
		for len(lines) > 0 {
			i := bytes.LastIndexByte(lines[:len(lines)-1], '\n') + 1
			if !see(lines[i:], at) {
				return nil
			}
			at -= int64(len(lines) - i)
			lines = lines[:i]
		}
		end = start
	}
	return nil
}

// end returns the place after the last whole line. If it finds no line in the last 2*maxLine bytes,
// it returns the end of the file.
func (h history) end() (end int64, err error) {
	from := max(0, h.size-2*maxLine)
	if from > 0 {
		end = h.size
	}
	err = h.back(from, h.size, func(_ []byte, at int64) bool {
		end = at
		return false
	})
	return end, err
}

// posts calls the function see with each post between the places from and end, newest first, until
// see returns false. It counts damaged lines.
func (h history) posts(from, end int64, see func(Post) bool) (damaged int, err error) {
	if h.file == nil {
		return 0, nil
	}
	err = h.back(from, end, func(line []byte, at int64) bool {
		p, err := parsePost(line)
		if err != nil {
			if len(bytes.TrimSpace(line)) > 0 {
				damaged++
			}
			return true
		}
		p.start, p.end = at-int64(len(line)), at
		return see(p)
	})
	return damaged, err
}

// Last returns at most maxShown posts, and reads at most maxRead bytes of a history.
const (
	maxShown = 1000
	maxRead  = 8 << 20
)

// Last returns the newest n posts for which match returns true, oldest first. If match is nil, all
// posts count. If n is 0, it returns up to maxShown posts.
func (r *Room) Last(n int, match func(Post) bool) (posts []Post, err error) {
	return LastHolding(r, n, func([]byte) bool { return true }, match)
}

// LastHolding is like Last, but parses a line only if the function holds returns true for it.
func LastHolding(r *Room, n int, holds func(line []byte) bool, match func(Post) bool) (posts []Post, err error) {
	h, err := r.history()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if n <= 0 {
		n = maxShown
	}
	err = h.back(max(0, h.size-maxRead), h.size, func(line []byte, at int64) bool {
		if holds(line) {
			if p, err := parsePost(line); err == nil && (match == nil || match(p)) {
				p.end = at
				posts = append(posts, p)
			}
		}
		return len(posts) < min(n, maxShown)
	})
	slices.Reverse(posts)
	return posts, err
}

// Part is a part of a history.
type Part struct {
	Posts []Post // newest first
	Older int64  // the place before which there may be older posts; 0: there are none
	End   int64  // the place after the newest post
}

// PartBefore returns the newest n posts before a place. If place is 0, it means the end of the
// history. It reads at most maxRead bytes, so it may return fewer posts although there are older
// ones.
func PartBefore(r *Room, place int64, n int) (p Part, err error) {
	h, err := r.history()
	if err != nil {
		return p, err
	}
	defer h.Close()
	if p.End, err = h.end(); err != nil {
		return p, err
	}
	if place > 0 {
		p.End = min(p.End, place)
	}
	p.Older = max(0, p.End-maxRead)
	_, err = h.posts(p.Older, p.End, func(post Post) bool {
		if len(p.Posts) == n {
			p.Older = post.end
			return false
		}
		p.Posts = append(p.Posts, post)
		return true
	})
	return p, err
}

// Find returns the newest post with this id, or with this short id.
func (r *Room) Find(id string) (Post, error) {
	found, err := LastHolding(r, 1, sessions.Holds(id), func(p Post) bool { return p.ID != "" && (p.ID == id || mail.ShortID(p.ID) == id) })
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no post %q in room %q", id, r.Name)
	}
	if err != nil {
		return Post{}, err
	}
	return found[0], nil
}

// WithID returns the newest posts with this id, or with its short form, oldest first. If id is "",
// it returns none.
func (r *Room) WithID(id string) ([]Post, error) {
	if id == "" {
		return nil, nil
	}
	return LastHolding(r, 0, sessions.Holds(mail.ShortID(id)), func(p Post) bool { return p.ID != "" && mail.ShortID(p.ID) == mail.ShortID(id) })
}

// tail is the number of bytes of a history that Append shows to its caller. If there is no whole
// post in them, it shows more.
const tail = 128 << 10

// Append adds one post, durably. Under the lock of the history, it calls the function write with
// the newest posts, newest first. If write returns no post, Append adds nothing.
func (r *Room) Append(ctx context.Context, write func(last []Post) (*Post, error)) error {
	return atomicfile.WithLock(ctx, r.dir, historyLock, func() error {
		if err := r.gone(); err != nil {
			return err
		}
		h, err := r.history()
		if err != nil {
			return err
		}
		var last []Post
		for _, size := range []int64{tail, 2 * maxLine} { // the newest post alone may be longer than tail
			if _, err = h.posts(max(0, h.size-size), h.size, func(p Post) bool {
				last = append(last, p)
				return true
			}); err != nil || len(last) > 0 {
				break
			}
		}
		h.Close()
		if err != nil {
			return fmt.Errorf("read the history of room %q: %w", r.Name, err)
		}
		p, err := write(last)
		if err != nil || p == nil {
			return err
		}
		if err := p.Check(); err != nil {
			return err
		}
		if err := r.dir.AppendLines(historyName, p.line()); err != nil {
			return fmt.Errorf("post to room %q: %w", r.Name, err)
		}
		return nil
	})
}

// Damaged counts the lines of the history that are not valid posts.
func (r *Room) Damaged() (int, error) {
	h, err := r.history()
	if err != nil {
		return 0, err
	}
	defer h.Close()
	if h.size > atomicfile.MaxFile {
		return 0, fmt.Errorf("read the history of room %q: %w", r.Name, atomicfile.ErrTooLarge)
	}
	return h.posts(0, h.size, func(Post) bool { return true })
}
