package hook

import (
	"context"
	"strings"

	"c2c/rooms"
	"c2c/rooms/talk"
)

// maxNews is how many bytes of what is new in rooms an answer holds.
const maxNews = 2 << 10

// mayHaveNews reports whether the answer may hold what is new in rooms.
func (e *event) mayHaveNews() bool {
	return e.s.Facts.InRooms && (e.TellsTrouble() || e.Often() && e.ShowsMail())
}

// addNews puts what is new in the session's rooms into the answer: at the begin of a turn, and within a turn what it is open to. At
// the end of a turn it adds nothing, because the client would ask its model again.
func (e *event) addNews(ctx context.Context) (rooms.News, error) {
	if !e.mayHaveNews() {
		return rooms.News{}, nil
	}
	begins := e.TellsTrouble()
	if !begins && !talk.StoreOf(e.b.Registry).IsOpen(e.s.ID) {
		return rooms.News{}, nil
	}
	news, err := talk.News(ctx, e.b.Registry, e.s, !begins)
	e.warn(err) // the mail does not depend on it
	text := news.Text(min(maxNews, e.Limit()/4))
	if text != "" {
		e.Note = strings.TrimPrefix(e.Note+"\n"+text, "\n")
	}
	if text == "" && len(news.Rooms) > 0 { // no room for it: it stays new
		return rooms.News{}, nil
	}
	return news, nil
}
