package hook

import (
	"context"
	"strings"

	"c2c/rooms"
	"c2c/rooms/talk"
	"c2c/wake"
)

// mayHaveNews reports whether the session is in a room, and the answer to this event may have posts.
func (e *event) mayHaveNews() bool {
	return e.s.Facts.InRooms && (e.TellsTrouble() || e.Often() && e.ShowsMail())
}

// addNews puts the new posts of the session's rooms into the answer. At the beginning of a turn it takes them from all rooms, and within a
// turn from rooms with the level open. At the end of a turn it adds nothing: the client would give the posts to its model as a new turn.
func (e *event) addNews(ctx context.Context) rooms.News {
	if !e.mayHaveNews() {
		return rooms.News{}
	}
	begins := e.TellsTrouble()
	if !begins && !talk.StoreOf(e.b.Registry).IsOpen(e.s.ID) {
		return rooms.News{}
	}
	news, err := talk.News(ctx, e.b.Registry, e.s, !begins)
	e.warn(err) // the mail does not depend on the posts
	text := news.Text(min(rooms.DigestSize, e.Limit()/4))
	if text != "" {
		e.Note = strings.TrimPrefix(e.Note+"\n"+text, "\n")
	}
	return news
}

// announceNews says in the answer to the person's prompt that there are new posts. c2c's plugin in the client cannot put the posts into the
// prompt, and the text of a hook has more authority there than the posts may have. If the plugin has begun the turn with mail, it has put
// the posts there, too, and announceNews does nothing.
func (e *event) announceNews(ctx context.Context) {
	if !e.s.Facts.InRooms || !e.TellsTrouble() || strings.Contains(string(e.Prompt), "<c2c ") {
		return
	}
	news, err := talk.News(ctx, e.b.Registry, e.s, false)
	e.warn(err)
	if len(news.Rooms) > 0 {
		e.Note = "c2c: new posts in your rooms: " + wake.Poll
	}
}
