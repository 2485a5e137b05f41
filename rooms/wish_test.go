package rooms

import (
	"slices"
	"testing"

	"c2c/inbox/mail"
)

// The last members leave, the home closes the room and makes another one of the same name, and a
// session joins that before it hears of the first one's end.
func TestTheEndOfARoomEndsNoWishToJoinTheNextOne(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "old")
	exchange(devbox, laptop)
	if _, err := ArchiveRoom(t.Context(), devbox.Broker, "review"); err != nil {
		t.Fatal(err)
	}
	devbox.join("amber", "review")
	for _, alias := range []string{"birch", "cedar"} {
		if err := Leave(t.Context(), laptop.Broker, laptop.session(alias), "review@devbox"); err != nil {
			t.Fatal(err)
		}
	}
	laptop.join("birch", "review@devbox")
	laptop.carry(devbox, false)
	devbox.post("amber", "review", "@birch new")
	if _, err := ReceivePosts(t.Context(), laptop.Broker, "devbox", "review", devbox.outgoing(), CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"@birch new"}) {
		t.Errorf("posts of the copy: %q", got)
	}
	if got := laptop.members("review@devbox"); !slices.Contains(got, "birch") {
		t.Errorf("members of the copy: %q", got)
	}
}

// A session leaves, and joins again at once. Lists that the home has made before it heard of that
// are under way.
func TestAnOldListAnswersNoNewWishToJoin(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	take := func(from, to *machine) (msgs []mail.Message) {
		msgs = from.outgoing()
		from.carried += len(msgs)
		return msgs
	}
	give := func(from, to *machine, msgs []mail.Message) {
		for _, m := range msgs {
			if err := to.receive(from.name, m, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	devbox.join("elm", "review")
	first := take(devbox, laptop) // with birch
	if err := Leave(t.Context(), laptop.Broker, laptop.session("birch"), "review@devbox"); err != nil {
		t.Fatal(err)
	}
	laptop.join("birch", "review@devbox")
	wishes := take(laptop, devbox)
	if len(wishes) != 2 {
		t.Fatalf("%+v", wishes)
	}
	give(laptop, devbox, wishes[:1])
	second := take(devbox, laptop) // without birch
	give(laptop, devbox, wishes[1:])
	give(devbox, laptop, first)
	if asked, err := laptop.room("review@devbox").Asked(); err != nil || len(asked) != 1 {
		t.Errorf("behind the first list: %+v %v", asked, err)
	}
	give(devbox, laptop, second)
	give(devbox, laptop, take(devbox, laptop))
	if got := laptop.members("review@devbox"); !slices.Contains(got, "birch") {
		t.Errorf("members of the copy: %q", got)
	}
	if asked, err := laptop.room("review@devbox").Asked(); err != nil || len(asked) != 0 {
		t.Errorf("still asked: %+v %v", asked, err)
	}
}
