package roomed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/rooms"
	"c2c/rooms/talk"
	"c2c/sessions"
)

// found are posts of one room.
type found struct {
	Room  string `json:"room_id"`
	Posts any    `json:"posts"`
}

// search finds the posts with all words, in their text or as their author, in the rooms that the session may read: of each room the
// newest ones, as far as its history is read.
func (c *call) search(_ context.Context, s sessions.Session) error {
	var words []string
	for _, word := range c.words {
		words = append(words, strings.ToLower(word))
	}
	names, err := c.st.Names()
	if err != nil {
		return err
	}
	byRoom, order := map[string][]rooms.Post{}, []string{}
	var errs []error
	for _, name := range names {
		posts, err := c.searchIn(name, s, words)
		errs = append(errs, err)
		if len(posts) > 0 {
			byRoom[name], order = posts, append(order, name)
		}
	}
	all := []found{}
	for _, name := range order {
		all = append(all, found{name, talk.JSON(byRoom[name])})
	}
	return errors.Join(c.show(all, func() {
		if len(order) == 0 {
			c.printf("(no posts)\n")
		}
		for _, name := range order {
			if s.State == sessions.Person {
				c.printf("#%s\n", name)
			}
			c.printPosts(s, name, byRoom[name])
		}
	}), errors.Join(errs...))
}

func (c *call) searchIn(name string, s sessions.Session, words []string) ([]rooms.Post, error) {
	r, err := c.st.Open(name)
	if errors.Is(err, rooms.ErrNoRoom) { // it was renamed just now
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	switch err := talk.MayRead(r, s); {
	case errors.Is(err, rooms.ErrNotMember):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("search room %q: %w", name, err)
	}
	return r.Last(c.limit, func(p rooms.Post) bool {
		text := strings.ToLower(p.From + "\n" + p.Content)
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
}
