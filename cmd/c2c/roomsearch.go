package main

import (
	"context"
	"errors"

	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
)

// found has the posts that were found in one room.
type found struct {
	Room  string `json:"room_id"`
	Posts any    `json:"posts"`
	posts []rooms.Post
}

// search finds posts in the rooms that the session may read. A post is found if its text, its author and its room together have all the
// words. search shows the newest such posts of each room, at most --limit.
func (c *roomCall) search(_ context.Context, s sessions.Session) error {
	names, err := c.st.Names()
	if err != nil {
		return err
	}
	words := mail.SearchWords(c.words)
	all := []found{}
	var errs []error
	for _, name := range names {
		posts, err := rooms.SearchRoom(c.st, s, name, words, c.limit)
		errs = append(errs, err)
		if len(posts) > 0 {
			all = append(all, found{name, rooms.PostsJSON(posts), posts})
		}
	}
	return errors.Join(c.show(all, func() {
		if len(all) == 0 {
			c.printf("(no posts)\n")
		}
		for _, f := range all {
			if s.State == sessions.Person {
				c.printf("#%s\n", f.Room)
			}
			c.printPosts(s, f.Room, f.posts)
		}
	}), errors.Join(errs...))
}
