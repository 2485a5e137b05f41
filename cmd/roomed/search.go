package roomed

import (
	"context"
	"errors"

	"c2c/inbox/finder"
	"c2c/rooms"
	"c2c/rooms/talk"
	"c2c/sessions"
)

// found has the posts that were found in one room.
type found struct {
	Room  string `json:"room_id"`
	Posts any    `json:"posts"`
	posts []rooms.Post
}

// search finds the posts that have all the words, in their text or as their author, in the rooms that the session may read. Of each
// room it shows the newest such posts, as far back as c2c reads a history.
func (c *call) search(_ context.Context, s sessions.Session) error {
	names, err := c.st.Names()
	if err != nil {
		return err
	}
	words := finder.Words(c.words)
	all := []found{}
	var errs []error
	for _, name := range names {
		posts, err := talk.SearchRoom(c.st, s, name, words, c.limit)
		errs = append(errs, err)
		if len(posts) > 0 {
			all = append(all, found{name, talk.JSON(posts), posts})
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
