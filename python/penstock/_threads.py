"""The threads of a client. They know it only weakly, so that one that is forgotten can end."""
import time
import traceback

FLUSH_AFTER_S = 0.0005  # Calls that are submitted within this time travel together.
LOOK_NS = 50_000_000    # How often it is looked for values to be freed when there are no news.


def follow_news(reference):
    client = reference()
    library, handle = client._library, client._handle
    del client
    while True:
        news = library.next_news(handle, LOOK_NS)
        client = reference()
        if client is None or client._closing:
            if news:
                library.news_free(news)
            return
        if news:
            try:
                client._take_news(news.contents)
            finally:
                library.news_free(news)
        elif client._dropped or client._freed or client._lending:
            with client._lock:
                client._release_dropped()
        if client._closing:  # By a callback: the handle is not ours any more.
            return
        del client
        if reference() is None:  # So it was the last who knew it.
            return


def flush_soon(reference):
    wake = reference()._wake
    while True:
        wake.wait()
        time.sleep(FLUSH_AFTER_S)
        wake.clear()  # Before we look: who closes it says so first, and then wakes us.
        client = reference()
        if client is None or client._closing:
            return
        try:
            client._flush()
        except Exception:  # Its futures know; others are to leave yet.
            traceback.print_exc()
        del client
