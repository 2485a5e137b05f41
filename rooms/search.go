package rooms

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Posted is the state of a post in a list that also has messages and their states.
const Posted = "posted"

// SearchPosts is like broker.Search, and also finds posts of the rooms that the session may read.
// It lists a post only once, although the named members have it as a message, too.
func SearchPosts(ctx context.Context, b *broker.Broker, s sessions.Session, words []string, limit int) ([]broker.Mail, error) {
	all, err := b.Search(ctx, s, words, limit)
	posts, perr := searchRooms(b.Registry, s, mail.SearchWords(words), limit)
	if len(posts) > 0 {
		ids := map[string]bool{}
		for _, p := range posts {
			ids[p.ID] = p.ID != ""
		}
		for _, m := range all {
			if !ids[m.ID] || mail.RoomOf(m.To) == "" {
				posts = append(posts, m)
			}
		}
		sort.SliceStable(posts, func(i, j int) bool { return posts[i].TS > posts[j].TS })
		all = posts[:min(len(posts), limit)]
	}
	return all, errors.Join(err, perr)
}

// searchRooms finds the newest matching posts of each room, as far back as c2c reads a history.
func searchRooms(reg *sessions.Registry, s sessions.Session, words []string, limit int) (all []broker.Mail, err error) {
	st := StoreOf(reg)
	names, err := st.Names()
	for _, name := range names {
		posts, rerr := SearchRoom(st, s, name, words, limit)
		err = errors.Join(err, rerr)
		for _, p := range posts {
			m := broker.Mail{Message: p.In(name)}
			m.Status.State, m.Status.At = Posted, p.Time()
			all = append(all, m)
		}
	}
	return all, err
}

// SearchRoom finds the newest posts of a room that have all words in their text, their author or
// the room's name. The words must be in lower case. If the session may not read the room,
// SearchRoom finds none.
func SearchRoom(st Store, s sessions.Session, name string, words []string, limit int) ([]Post, error) {
	r, err := st.Open(name)
	if errors.Is(err, ErrNoRoom) { // it was archived just now
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	switch err := MayRead(r, s); {
	case errors.Is(err, ErrNotMember):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("search room %q: %w", name, err)
	}
	var inLine []string // the words that are not in the room's name
	for _, word := range words {
		if !mail.HasAllWords("#"+name, []string{word}) {
			inLine = append(inLine, word)
		}
	}
	return LastHolding(r, limit, mail.MayHaveWords(inLine), func(p Post) bool { return mail.HasAllWords(p.From+" #"+name+" "+p.Content, words) })
}
