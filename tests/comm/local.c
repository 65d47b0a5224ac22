/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Messages are matched, and copied, by the rank that comes second, and are done when their time has passed. */
#include "local.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct message {
    const void *from;
    void *to; /* or NULL */
    size_t size, received;
    bool matched, lost;
    double done; /* when it is */
    struct message *next;
} message;

/* The queue between two ranks on a channel: sends or receives, never both. */
typedef struct box {
    message *sends, *receives;
} box;

struct local_group {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ranks, users;
    double seconds;
    size_t small;
    box *boxes; /* [from][to][channel] */
    /* of a split: who has come, what they want, the groups, and who has left */
    int came, left;
    int *colors, *keys;
    local_group **groups;
};

typedef struct local_end {
    local_group *group;
    int rank;
} local_end;

_Thread_local local_record local;

double local_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

local_group *local_group_make(int ranks, double seconds, size_t small) {
    local_group *group = calloc(1, sizeof *group);
    const size_t n = (size_t)ranks;
    pthread_mutex_init(&group->lock, NULL);
    pthread_cond_init(&group->changed, NULL);
    group->ranks = group->users = ranks;
    group->seconds = seconds;
    group->small = small;
    group->boxes = calloc(n * n * TDM_TRANSPORT_CHANNELS, sizeof *group->boxes);
    group->colors = calloc(n, sizeof *group->colors);
    group->keys = calloc(n, sizeof *group->keys);
    group->groups = calloc(n, sizeof(local_group *));
    return group;
}

static box *box_of(const local_group *group, int from, int to, int channel) {
    return &group->boxes[(from * group->ranks + to) * TDM_TRANSPORT_CHANNELS + channel];
}

static message *take_first(message **list) {
    message *first = *list;
    if (first) *list = first->next;
    return first;
}

static void append(message **list, message *made) {
    while (*list)
        list = &(*list)->next;
    *list = made;
}

static void match(const local_group *group, message *sent, message *got) {
    const size_t size = sent->size < got->size ? sent->size : got->size;
    memcpy(got->to, sent->from, size);
    got->received = sent->size;
    sent->matched = got->matched = true;
    sent->done = got->done = local_now() + (size > group->small ? group->seconds : 0);
}

static tdm_status begin(void *state, message made, int from, int to, int channel,
                        tdm_message *handle) {
    const local_end *end = state;
    message *own = malloc(sizeof *own);
    *own = made;
    handle->handle[0] = own;
    handle->handle[1] = box_of(end->group, from, to, channel);
    box *place = handle->handle[1];
    pthread_mutex_lock(&end->group->lock);
    message *other = take_first(own->to ? &place->sends : &place->receives);
    if (!other)
        append(own->to ? &place->receives : &place->sends, own);
    else if (own->to)
        match(end->group, other, own);
    else
        match(end->group, own, other);
    pthread_mutex_unlock(&end->group->lock);
    local.open++;
    return TDM_OK;
}

static tdm_status send_bytes(void *state, int to, int channel, const void *bytes, size_t size,
                             tdm_message *handle) {
    const int rank = ((const local_end *)state)->rank;
    if (local.no_sends >> channel & 1)
        return tdm_transport_fail(TDM_ERROR_BACKEND, "the connection was reset");
    const bool lost = channel == LOCAL_HEADERS && to > 0 && to == local.lost;
    return begin(state, (message){.from = bytes, .size = size, .lost = lost}, rank, to,
                 lost ? LOCAL_PAIRS : channel, handle); /* where none is received */
}

static tdm_status receive_bytes(void *state, int from, int channel, void *bytes, size_t size,
                                tdm_message *handle) {
    const int rank = ((const local_end *)state)->rank;
    if (local.no_receives >> channel & 1)
        return tdm_transport_fail(TDM_ERROR_OUT_OF_MEMORY, "no room for a message");
    return begin(state, (message){.to = bytes, .size = size}, from, rank, channel, handle);
}

static tdm_status test(void *state, tdm_message *handle, bool *done, size_t *received,
                       int *failed) {
    (void)failed;
    local_group *group = ((const local_end *)state)->group;
    message *own = handle->handle[0];
    if (own->lost) return tdm_transport_fail(TDM_ERROR_BACKEND, "the message was lost");
    pthread_mutex_lock(&group->lock);
    *done = own->matched && local_now() >= own->done;
    *received = own->received;
    pthread_mutex_unlock(&group->lock);
    if (!*done) return TDM_OK;
    local.open--;
    free(own);
    return TDM_OK;
}

static void abandon(void *state, tdm_message *handle, bool *in_use) {
    local_group *group = ((const local_end *)state)->group;
    message *own = handle->handle[0];
    box *place = handle->handle[1];
    local.open--;
    *in_use = local.keeps;
    if (local.keeps) return;
    pthread_mutex_lock(&group->lock);
    message **at = own->to ? &place->receives : &place->sends;
    while (*at && *at != own)
        at = &(*at)->next;
    if (*at) *at = own->next;
    pthread_mutex_unlock(&group->lock);
    free(own);
}

static void leave(local_group *group) {
    pthread_mutex_lock(&group->lock);
    const bool last = --group->users == 0;
    pthread_mutex_unlock(&group->lock);
    if (!last) return;
    pthread_mutex_destroy(&group->lock);
    pthread_cond_destroy(&group->changed);
    free(group->boxes);
    free(group->colors);
    free(group->keys);
    free((void *)group->groups);
    free(group);
}

static void destroy(void *state, bool broken) {
    *(broken ? &local.broken : &local.whole) += 1;
    leave(((local_end *)state)->group);
    free(state);
}

/* How many of the color there are, and which of them the rank is. */
static int place_of(const local_group *group, int rank, int *count) {
    int place = 0;
    *count = 0;
    for (int i = 0; i < group->ranks; i++) {
        if (group->colors[i] != group->colors[rank]) continue;
        ++*count;
        const bool before = group->keys[i] < group->keys[rank];
        place += before || (group->keys[i] == group->keys[rank] && i < rank);
    }
    return place;
}

static tdm_status split(void *state, int color, int key, tdm_transport *part) {
    const local_end *end = state;
    local_group *group = end->group;
    int count = 0;
    pthread_mutex_lock(&group->lock);
    while (group->left > 0) /* of the split before */
        pthread_cond_wait(&group->changed, &group->lock);
    group->colors[end->rank] = color;
    group->keys[end->rank] = key;
    group->groups[end->rank] = NULL;
    group->came++;
    if (group->came == group->ranks) {
        group->left = group->came;
        pthread_cond_broadcast(&group->changed);
    }
    while (group->left == 0)
        pthread_cond_wait(&group->changed, &group->lock);
    const int place = place_of(group, end->rank, &count);
    local_group *made = NULL;
    for (int i = 0; i < group->ranks; i++)
        if (group->colors[i] == color && group->groups[i]) made = group->groups[i];
    if (color >= 0 && !made) made = local_group_make(count, group->seconds, group->small);
    group->groups[end->rank] = made;
    if (--group->left == 0) group->came = 0;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    part->ranks = 0;
    if (color >= 0) *part = local_transport(made, place);
    return TDM_OK;
}

tdm_transport local_transport(local_group *group, int rank) {
    local_end *end = malloc(sizeof *end);
    *end = (local_end){group, rank};
    return (tdm_transport){.size = sizeof(tdm_transport),
                           .state = end,
                           .rank = rank,
                           .ranks = group->ranks,
                           .send = send_bytes,
                           .receive = receive_bytes,
                           .test = test,
                           .abandon = abandon,
                           .split = split,
                           .destroy = destroy};
}
