/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A team: the ranks' devices as a vendor's library knows them (tdmi_collectives), and the thread that watches over
 * what the team has under way. */
#ifndef TDMI_TEAM_H
#define TDMI_TEAM_H

#include "core.h"

typedef struct tdmi_team tdmi_team;

/* ---- team.c ---- */

/* Collective. The device outlives the team. */
tdm_status tdmi_team_make(tdm_device *device, const unsigned char id[TDMI_TEAM_ID], int rank,
                          int ranks, double timeout, tdmi_team **team) TDM_MUST_USE;
/* Waits for its work, unless it was given up, which the time limit sees to. */
void tdmi_team_end(tdmi_team *team);

void tdmi_team_set_timeout(tdmi_team *team, double seconds);

/* Puts pieces that run together on the queue, and watches over them. */
tdm_status tdmi_team_run(tdmi_team *team, tdm_queue *queue, const tdmi_piece *pieces,
                         size_t count) TDM_MUST_USE;

/* Whether the team was given up, and why: a text that stays. */
bool tdmi_team_is_lost(tdmi_team *team, const char **why);

/* Gives up what is under way, which then ends, and tells so who waits for it. */
void tdmi_team_give_up(tdmi_team *team, const char *why);

#endif
