package rooms

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// exchange carries all mail in both directions, from a machine first.
func exchange(first, second *machine) {
	for range 2 {
		first.carry(second, false)
		second.carry(first, false)
	}
}

// The home sees no change then: its list of members is the same.
func TestAMemberWhoseCopyIsLostMayJoinAgain(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	if err := os.RemoveAll(laptop.room("review@devbox").Path()); err != nil {
		t.Fatal(err)
	}
	laptop.join("birch", "review@devbox")
	exchange(laptop, devbox)
	if got := laptop.members("review@devbox"); !slices.Contains(got, "birch") {
		t.Errorf("members of the copy: %q", got)
	}
	devbox.post("amber", "review", "@birch one")
	exchange(devbox, laptop)
	if got := laptop.waiting("s-birch"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// The older posts come before the list, which says that the room is private.
func TestACopyIsPrivateUntilItsHomeSaysOtherwise(t *testing.T) {
	t.Parallel()
	devbox, laptop := newMachine(t, "devbox", "laptop"), newMachine(t, "laptop", "devbox")
	devbox.join("amber", "board")
	r := devbox.room("board")
	if err := r.ChangeMeta(t.Context(), func(m *Meta) { m.Private, m.Invited = true, []string{"birch@laptop"} }); err != nil {
		t.Fatal(err)
	}
	devbox.post("amber", "board", "secret")
	laptop.join("birch", "board@devbox")
	laptop.carry(devbox, false)
	msgs := devbox.outgoing()
	if err := laptop.receive("devbox", msgs[0], false); err != nil {
		t.Fatal(err)
	}
	if m, err := laptop.room("board@devbox").Meta(); err != nil || !m.Private {
		t.Errorf("%+v %v", m, err)
	}
}

// A machine's last member leaves while a post is on its way there, and joins again before the
// refusal is back.
func TestAnOldRefusalEndsNoNewMembership(t *testing.T) {
	t.Parallel()
	devbox, laptop := newMachine(t, "devbox", "laptop"), newMachine(t, "laptop", "devbox")
	devbox.join("amber", "review")
	laptop.join("birch", "review@devbox")
	exchange(laptop, devbox)
	devbox.post("amber", "review", "one")
	late := devbox.outgoing()
	devbox.carried += len(late)
	if err := Leave(t.Context(), laptop.Broker, laptop.session("birch"), "review@devbox"); err != nil {
		t.Fatal(err)
	}
	if err := laptop.receive("devbox", late[0], false); !errors.Is(err, ErrNoRoom) {
		t.Fatal(err)
	}
	laptop.join("birch", "review@devbox")
	laptop.carry(devbox, false)
	refused := late[0]
	refused.To += "@laptop"
	if _, err := RefusedCopy(t.Context(), devbox.Broker, "laptop", refused, false); err != nil {
		t.Fatal(err)
	}
	exchange(devbox, laptop)
	if got := devbox.members("review"); !slices.Contains(got, "birch@laptop") {
		t.Errorf("members: %q", got)
	}
	if got := laptop.members("review@devbox"); !slices.Contains(got, "birch") {
		t.Errorf("members of the copy: %q", got)
	}
}

// Two agents that answer each other through a room stop, wherever they are.
func TestTheLoopGuardCountsTheWakesOnAllMachines(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	bell, err := atomicfile.OpenLocked(devbox.Dir(), sessions.RingLock("s-amber")) // whoever holds it rings amber
	if err != nil {
		t.Fatal(err)
	}
	defer bell.Release()
	if ok, err := bell.Try(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	limit := 6
	for i := range 20 {
		from, to := devbox, laptop
		alias, text := "amber", "@birch go on"
		if i%2 == 1 {
			from, to, alias, text = laptop, devbox, "birch", "@amber go on"
		}
		room := "review"
		if from == laptop {
			room += "@devbox"
		}
		d := Draft{Room: room, Limit: limit, Message: mail.Message{Content: text}}
		if _, err := Publish(t.Context(), from.Broker, from.session(alias), d); err != nil {
			t.Fatal(err)
		}
		for _, m := range from.outgoing() {
			from.carried++
			if _, err := ReceivePosts(t.Context(), to.Broker, from.name, "review", []mail.Message{m}, CopyOptions{MayJoin: true, Limit: limit}); err != nil {
				t.Fatal(err)
			}
		}
		devbox.carry(laptop, false)
	}
	if got := len(laptop.waiting("s-birch")) + len(devbox.waiting("s-amber")); got > limit+2 {
		t.Errorf("%d wakes", got)
	}
}

// Damage costs the posts in it, and none behind it.
func TestAPostBehindALineThatIsTooLongGoesOut(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	path := devbox.room("review").Path() + "/history.jsonl"
	if err := os.WriteFile(path, append(make([]byte, 6<<20), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	devbox.post("amber", "review", "one")
	exchange(devbox, laptop)
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"one"}) {
		t.Errorf("posts of the copy: %q", got)
	}
}

func TestAHomeThatHasLostItsRecordSendsOn(t *testing.T) {
	t.Parallel()
	for _, damage := range []func(path string) error{os.Remove, func(path string) error { return os.WriteFile(path, []byte(`{"members":{`), 0o600) }} {
		devbox, laptop := two(t)
		devbox.post("amber", "review", "zero")
		exchange(devbox, laptop)
		if err := damage(filepath.Join(devbox.room("review").Path(), "c2c.json")); err != nil {
			t.Fatal(err)
		}
		devbox.post("amber", "review", "@birch one")
		laptop.post("birch", "review@devbox", "two")
		exchange(laptop, devbox)
		if got, want := laptop.posts("review@devbox"), devbox.posts("review"); !slices.Equal(got, want) || len(want) != 3 {
			t.Errorf("posts of the copy: %q, of the home: %q", got, want)
		}
		if got := laptop.waiting("s-birch"); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	}
}

// The last members of a machine leave while another session there asks to join. Its copy stays, and
// the home sends the older posts anew.
func TestACopyThatIsKeptHasNoOlderPostTwice(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "one")
	exchange(devbox, laptop)
	// elm asks between the two steps of the last leave: the home hears of the leave first.
	if _, _, err := StoreOf(laptop.Registry).Ask(t.Context(), "review@devbox", Asked{SID: "s-elm", Alias: "elm"}); err != nil {
		t.Fatal(err)
	}
	for _, alias := range []string{"birch", "cedar"} {
		if err := Leave(t.Context(), laptop.Broker, laptop.session(alias), "review@devbox"); err != nil {
			t.Fatal(err)
		}
	}
	laptop.join("elm", "review@devbox")
	exchange(laptop, devbox)
	devbox.post("amber", "review", "two")
	exchange(devbox, laptop)
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("posts of the copy: %q", got)
	}
}

// The list of paired machines cannot be read then, or other machines do not know the project just
// now.
func TestAnArchivedRoomIsClosedEverywhereThoughTheMachinesAreNotKnown(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "last words")
	b, err := broker.Open(broker.Config{Root: devbox.Root(), Now: time.Now, Hosts: func() ([]string, error) { return nil, errors.New("damaged") }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r := laptop.room("review@devbox")
	if _, err := ArchiveRoom(t.Context(), b, "review"); err != nil {
		t.Fatal(err)
	}
	devbox.carry(laptop, false)
	if posts, err := r.Last(0, nil); err != nil || len(posts) != 1 {
		t.Errorf("posts of the copy: %+v %v", posts, err)
	}
	if _, err := StoreOf(laptop.Registry).Open("review@devbox"); !errors.Is(err, ErrNoRoom) {
		t.Errorf("the copy: %v", err)
	}
}

// The relay is ended between the store of a post and the message to the session that it names.
func TestAnEndOfTheRelayBehindTheStoreOfAPostLosesNoMention(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	for _, way := range []struct {
		from, to          *machine
		alias, room, text string
		sid               string
	}{
		{devbox, laptop, "amber", "review", "@birch one", "s-birch"},
		{laptop, devbox, "birch", "review@devbox", "@amber two", "s-amber"},
	} {
		way.from.post(way.alias, way.room, way.text)
		msgs := way.from.outgoing()
		way.from.carried += len(msgs)
		lock, err := atomicfile.Acquire(t.Context(), way.to.Dir(), way.sid+".inbox.lock")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		o := CopyOptions{MayJoin: true}
		if _, err := ReceivePosts(ctx, way.to.Broker, way.from.name, "review", msgs, o); err == nil || IsFinal(err) {
			t.Errorf("to %s: %v", way.to.name, err)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		o.MayRepeat = true
		if _, err := ReceivePosts(t.Context(), way.to.Broker, way.from.name, "review", msgs, o); err != nil {
			t.Fatal(err)
		}
		if got := way.to.waiting(way.sid); len(got) != 1 || got[0].Content != way.text {
			t.Errorf("%s: %+v", way.sid, got)
		}
	}
	if got := devbox.posts("review"); len(got) != 2 {
		t.Errorf("posts of the home: %q", got)
	}
}

// The relay is ended while it waits for the lock of a room, or has waited for so long that the
// machine's other mail must go on.
func TestAPostThatFindsTheLockTakenIsTriedAgain(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	for _, way := range []struct {
		from, to          *machine
		alias, room, copy string
	}{
		{devbox, laptop, "amber", "review", "review@devbox"},
		{laptop, devbox, "birch", "review@devbox", "review"},
	} {
		way.from.post(way.alias, way.room, "one")
		msgs := way.from.outgoing()
		dir, err := way.to.Dir().Sub(Directory, false)
		if err == nil {
			defer dir.Close()
			dir, err = dir.Sub(way.copy, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		lock, err := atomicfile.Acquire(t.Context(), dir, "history.lock")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := ReceivePosts(ctx, way.to.Broker, way.from.name, "review", msgs, CopyOptions{MayJoin: true}); err == nil || IsFinal(err) {
			t.Errorf("to %s: %v", way.to.name, err)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// A foreign file in the place of a file of a room waits for a person. Meanwhile all else of the
// other machine must get through.
func TestAForeignFileInARoomKeepsNoOtherMailBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"history.jsonl", "members.json", "history.lock"} {
		devbox, laptop := two(t)
		devbox.post("amber", "review", "one")
		laptop.post("birch", "review@devbox", "two")
		toCopy, toHome := devbox.outgoing(), laptop.outgoing()
		for _, dir := range []string{devbox.room("review").Path(), laptop.room("review@devbox").Path()} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		if err := laptop.receive("devbox", toCopy[0], false); err != nil {
			t.Errorf("%s of the copy: %v", name, err)
		}
		if err := devbox.receive("laptop", toHome[0], false); err != nil && !IsFinal(err) {
			t.Errorf("%s of the home: %v", name, err)
		}
		refused := toHome[0]
		refused.To, refused.FromSession = "#review@devbox", "s-birch"
		if _, err := RefusedCopy(t.Context(), laptop.Broker, "devbox", refused, false); err != nil {
			t.Errorf("%s, a refusal to the copy: %v", name, err)
		}
		refused = toCopy[0]
		refused.To = "#review@laptop"
		if _, err := RefusedCopy(t.Context(), devbox.Broker, "laptop", refused, false); err != nil {
			t.Errorf("%s, a refusal to the home: %v", name, err)
		}
	}
}

// Home sends to a machine while a session there joins again, because its copy was lost.
func TestASendUnderWayForgetsNoJoin(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "one")
	r := devbox.room("review")
	before, err := r.Hosts()
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	if err := os.RemoveAll(laptop.room("review@devbox").Path()); err != nil {
		t.Fatal(err)
	}
	laptop.join("birch", "review@devbox")
	laptop.carry(devbox, false) // Home has read before, but has sent nothing yet
	if err := devbox.home.sendTo(t.Context(), r, before[0]); err != nil {
		t.Fatal(err)
	}
	exchange(devbox, laptop)
	if got := laptop.members("review@devbox"); !slices.Contains(got, "birch") {
		t.Errorf("members of the copy: %q", got)
	}
}

// Otherwise the record would become too large to be read, and all that it has would be lost.
func TestARefusedJoinLeavesNothingInTheRecordOfTheRoom(t *testing.T) {
	t.Parallel()
	devbox := newMachine(t, "devbox", "laptop")
	devbox.join("amber", "review")
	r := devbox.room("review")
	full := fmt.Sprintf(`[{"alias":"amber","session_id":"s-amber","pad":%q}]`, strings.Repeat("x", maxMembers-150))
	if err := os.WriteFile(filepath.Join(r.Path(), "members.json"), []byte(full), 0o600); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(r.Path(), "c2c.json")
	if err := r.JoinFrom(t.Context(), "laptop", "r-laptop.s-birch", "birch@laptop", mail.NewID(time.Now())); err == nil {
		t.Fatal("the room takes any number of members")
	}
	if after, err := os.ReadFile(record); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the record is\n%s %v", after, err)
	}
}

// A person may repair it. If the room were taken for gone, the member would leave its copy.
func TestARoomThatCannotBeLookedAtIsNotGone(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	path := devbox.room("review").Path()
	laptop.post("birch", "review@devbox", "one")
	post := laptop.outgoing()[0]
	if err := os.Chmod(path, 0o777); err != nil { // c2c opens no such directory
		t.Fatal(err)
	}
	if err := devbox.receive("laptop", post, false); !IsFinal(err) || errors.Is(err, ErrNoRoom) {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := devbox.receive("laptop", post, false); err != nil || !slices.Equal(devbox.posts("review"), []string{"one"}) {
		t.Errorf("%v: posts of the home: %q", err, devbox.posts("review"))
	}
}

// The home's list says that the last member has left. While the copy takes it over, another session
// asks to join.
func TestAWishToJoinThatComesWhileACopyIsGivenUpIsKept(t *testing.T) {
	t.Parallel()
	_, laptop := two(t)
	r := laptop.room("review@devbox")
	lock, err := atomicfile.Acquire(t.Context(), laptop.Dir(), "s-cedar.rooms.lock") // SetList waits for it, behind all that it reads
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		list := RoomOp{Do: DoList}.Message("#review")
		list.Kind = mail.KindSystem
		ended <- laptop.receive("devbox", list, false)
	}()
	for len(laptop.members("review@devbox")) > 0 {
		if len(ended) > 0 {
			t.Fatal(<-ended)
		}
	}
	laptop.join("elm", "review@devbox")
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if asked, err := r.Asked(); err != nil || len(asked) != 1 || asked[0].SID != "s-elm" {
		t.Errorf("%+v %v", asked, err)
	}
	if _, err := StoreOf(laptop.Registry).Open("review@devbox"); err != nil {
		t.Error(err)
	}
}

// Otherwise c2c rooms members would say that the session waits for an answer, which nobody will
// give.
func TestAWishToJoinThatIsNotSentIsNotRecorded(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} { // an earlier wish is on its way
		laptop := newMachine(t, "laptop", "devbox")
		birch := laptop.session("birch")
		if before {
			laptop.join("birch", "review@devbox")
		}
		path := filepath.Join(laptop.Root(), "host-devbox.inbox.json")
		if err := errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, err := Join(t.Context(), laptop.Broker, birch, "review@devbox", false); err == nil {
			t.Fatal("the wish is sent")
		}
		r, err := StoreOf(laptop.Registry).Open("review@devbox")
		if before != (err == nil) {
			t.Errorf("the copy: %v", err)
		}
		if err != nil {
			continue
		}
		defer r.Close()
		if asked, err := r.Asked(); err != nil || len(asked) != 1 {
			t.Errorf("%+v %v", asked, err)
		}
	}
}

// The relay is killed while it ends the membership of a machine: the record still says what that
// machine was sent. Its session that joins later gets the newest posts, and none from between.
func TestARecordThatAKillHasLeftIsNoPlaceOfALaterMember(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "with birch")
	exchange(devbox, laptop)
	record := filepath.Join(devbox.room("review").Path(), "c2c.json")
	left, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, alias := range []string{"birch", "cedar"} {
		if err := Leave(t.Context(), laptop.Broker, laptop.session(alias), "review@devbox"); err != nil {
			t.Fatal(err)
		}
	}
	exchange(laptop, devbox)
	if err := os.WriteFile(record, left, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		devbox.post("amber", "review", fmt.Sprint(i))
	}
	laptop.join("birch", "review@devbox")
	exchange(laptop, devbox)
	devbox.post("amber", "review", "later")
	exchange(devbox, laptop)
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"later"}) {
		t.Errorf("%d posts of the copy, the first is %.1q", len(got), got)
	}
}

// JSON makes a control character six times as long: the line of such a post is longer than a
// message may be.
func TestALongPostOfControlCharactersGoesOut(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	long := "@birch " + strings.Repeat("\x01\n", MaxPost/2-8) + "\n\n{}"
	devbox.post("amber", "review", long)
	devbox.post("amber", "review", strings.Repeat("<", MaxPost))
	devbox.post("amber", "review", strings.Repeat("\x1b", MaxPost))
	exchange(devbox, laptop)
	laptop.post("birch", "review@devbox", long)
	exchange(laptop, devbox)
	if got, want := laptop.posts("review@devbox"), devbox.posts("review"); len(want) != 4 || !slices.Equal(got, want) {
		t.Errorf("the copy has %d posts, the home %d", len(got), len(want))
	}
	if got := laptop.waiting("s-birch"); len(got) != 1 || got[0].Content != long {
		t.Errorf("%d messages", len(got))
	}
}

// A session there takes the alias of another one, which has a new alias now or has gone.
func TestAMentionReachesTheSessionThatHasTheAliasNow(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	as := func(sid, alias string) sessions.Session {
		t.Helper()
		s, err := laptop.Register(t.Context(), callers.Caller{Explicit: sid, Client: "gem"}, alias)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	as("s-birch", "oak")
	second := as("s-second", "birch")
	if _, err := Join(t.Context(), laptop.Broker, second, "review@devbox", false); err != nil {
		t.Fatal(err)
	}
	exchange(laptop, devbox)
	devbox.post("amber", "review", "@birch one")
	exchange(devbox, laptop)
	if _, err := Publish(t.Context(), laptop.Broker, as("s-birch", "oak"), Draft{Room: "review@devbox", Message: mail.Message{Content: "oak is here"}}); err != nil {
		t.Fatal(err)
	}
	exchange(laptop, devbox)
	if got := devbox.members("review"); !slices.Equal(got, []string{"amber", "oak@laptop", "cedar@laptop", "birch@laptop"}) {
		t.Errorf("members: %q", got)
	}
	devbox.post("amber", "review", "@oak two")
	exchange(devbox, laptop)
	for sid, want := range map[string]string{"s-second": "@birch one", "s-birch": "@oak two"} {
		if got := laptop.waiting(sid); len(got) != 1 || got[0].Content != want {
			t.Errorf("%s: %+v", sid, got)
		}
	}
}

// A member that has another alias now leaves a private room: it may come again, and nobody else who
// takes its former alias.
func TestAFormerAliasIsNotInvited(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	r := devbox.room("review")
	if err := r.ChangeMeta(t.Context(), func(m *Meta) { m.Private = true }); err != nil {
		t.Fatal(err)
	}
	s, err := laptop.Register(t.Context(), callers.Caller{Explicit: "s-birch", Client: "gem"}, "oak")
	if err == nil {
		err = Leave(t.Context(), laptop.Broker, s, "review@devbox")
	}
	if err != nil {
		t.Fatal(err)
	}
	exchange(laptop, devbox)
	if m, err := r.Meta(); err != nil || !slices.Equal(m.Invited, []string{"oak@laptop"}) {
		t.Errorf("%+v %v", m, err)
	}
}

// A member is not told of a post that names it, because the disk had an error: the post comes again
// from the other machine.
func TestAnErrorOfTheDiskLosesNoMention(t *testing.T) {
	t.Parallel()
	moment := &fs.PathError{Op: "write", Path: "s-amber.inbox.json", Err: syscall.EIO}
	full := fmt.Errorf("deliver: %w", inbox.ErrFull)
	for _, c := range []struct {
		errs []error
		want error
	}{{nil, nil}, {[]error{full}, nil}, {[]error{atomicfile.ErrLockTimeout}, nil}, {[]error{full, moment}, moment}} {
		if got := ofAMoment(c.errs); got != c.want {
			t.Errorf("%v: %v", c.errs, got)
		}
	}
}

// The next machine with its name may be another one.
func TestAMachineThatIsNotPairedAnyMoreIsNotInvitedBack(t *testing.T) {
	t.Parallel()
	devbox, laptop := newMachine(t, "devbox", "laptop"), newMachine(t, "laptop", "devbox")
	devbox.join("amber", "board")
	r := devbox.room("board")
	if err := r.ChangeMeta(t.Context(), func(m *Meta) {
		m.Private, m.Invited = true, []string{"birch@laptop", "elm@Laptop", "elm@mini", "elm"}
	}); err != nil {
		t.Fatal(err)
	}
	laptop.join("birch", "board@devbox")
	exchange(laptop, devbox)
	if got := devbox.members("board"); !slices.Equal(got, []string{"amber", "birch@laptop"}) {
		t.Fatalf("members: %q", got)
	}
	devbox.peer = "mini"
	devbox.look()
	meta, err := r.Meta()
	if err != nil || !slices.Equal(meta.Invited, []string{"elm@mini", "elm"}) {
		t.Errorf("invited are %q %v", meta.Invited, err)
	}
	if got := devbox.members("board"); !slices.Equal(got, []string{"amber"}) {
		t.Errorf("members: %q", got)
	}
}

// The other machine has a receipt for the post, and sends it no more.
func TestASessionGetsThePostThatNamesItAlsoIfItsCopyTakesNone(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	path := filepath.Join(laptop.room("review@devbox").Path(), "history.jsonl")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	devbox.post("amber", "review", "@birch, please answer")
	devbox.carry(laptop, true)
	if got := laptop.waiting("s-birch"); len(got) != 1 || got[0].Content != "@birch, please answer" {
		t.Errorf("birch has %+v", got)
	}
}

// It would hold back all later mail of the machine.
func TestAFileThatMayNotBeReadIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, errno := range []error{syscall.EACCES, syscall.EPERM} {
		if err := lasting(&fs.PathError{Op: "open", Path: "history.jsonl", Err: errno}); !IsFinal(err) {
			t.Errorf("%v would come again", err)
		}
	}
}

// The error may be one of a moment: no file could be opened.
func TestPostsOfARoomThatCouldNotBeReadGoOutLater(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	path := filepath.Join(devbox.room("review").Path(), "members.json")
	devbox.post("amber", "review", "one")
	if err := errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	devbox.look()
	if err := errors.Join(os.Remove(path), os.Rename(path+".away", path)); err != nil {
		t.Fatal(err)
	}
	devbox.home.Look(t.Context(), devbox.rights)
	for _, m := range devbox.waiting("host-laptop")[devbox.carried:] {
		m.FromSession, m.To = "r-devbox.c2c", "#review"
		if err := laptop.receive("devbox", m, false); err != nil {
			t.Fatal(err)
		}
	}
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"one"}) {
		t.Errorf("posts of the copy: %q", got)
	}
}
