package main

import (
	"context"
	"strings"

	"c2c/rooms"
	"c2c/wake"
)

// mayHaveNews reports whether the session is in a room, and the answer to this event may have
// posts.
func (e *event) mayHaveNews() bool {
	return e.s.Facts.InRooms && (e.TellsTrouble() || e.Often() && e.ShowsMail())
}

// addNews puts the new posts of the session's rooms into the answer. At the beginning of a turn it
// takes them from all rooms, and within a turn from rooms with the level open. At the end of a turn
// it adds nothing: the client would give the posts to its model as a new turn.
//
// An answer that may not have a peer's words says at the beginning of a turn that there are new
// posts, and the posts stay new.
func (e *event) addNews(ctx context.Context) rooms.News {
	if !e.mayHaveNews() {
		return rooms.News{}
	}
	begins := e.TellsTrouble()
	if !begins && (!e.ShowsWords() || !rooms.StoreOf(e.b.Registry).IsOpen(e.s.ID)) {
		return rooms.News{}
	}
	news, err := rooms.NewsFor(ctx, e.b.Registry, e.s, !begins)
	e.warn(err) // the mail does not depend on the posts
	var text string
	switch {
	case e.ShowsWords():
		text = news.Text(min(rooms.DigestSize, e.Limit()/4))
	case len(news.Rooms) > 0:
		news, text = rooms.News{}, "c2c: new posts in your rooms: "+wake.Poll
	}
	if text != "" {
		e.Note = strings.TrimPrefix(e.Note+"\n"+text, "\n")
	}
	return news
}
