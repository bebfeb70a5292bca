"""Which kind of data a table holds: headers as people have them, each with its kind or question."""

from typing import Any

import pytest
from lib.data_files import refusal

import luce
from luce.errors import DataError
from luce.reading.delimited import delimited_source
from luce.reading.detection import find_kind
from luce.reading.text import TextFile

# Header and rows, and the kind that they hold.
TOLD = {
    # two that meet
    "who beat whom": ("date,winner,loser / 2020-01-01,a,b / 2020-01-02,b,c", "pairs"),
    "numbers as players": ("winner,loser,surface / 17,4,clay / 4,9,grass", "pairs"),
    "arena votes": (
        "question_id,model_a,model_b,winner,judge,turn,language,tstamp"
        " / 58,x,y,model_a,u1,1,English,1682351591.1 / 59,y,z,tie,u2,1,Polish,1682351654.6",
        "pairs"),
    "arena with a group": (
        "model_a,model_b,winner,group / x,y,model_b,coding / y,z,model_a,maths", "pairs"),
    "football": (
        "Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR / 13/08/16,Hull,Leicester,2,1,H"
        " / 13/08/16,Burnley,Swansea,0,1,A", "pairs"),
    "football in numbers": ("season,home,away,result / 2008,Hul,Sto,-1 / 2008,Hul,Wig,0", "pairs"),
    "chess": (
        "Event,White,Black,Result,WhiteElo,Round / Open,Ann,Bo,1-0,2100,1 / Open,Bo,Cy,0-1,1900,2",
        "pairs"),
    "karate": (
        ",karateka1,wins1,karateka2,wins2,group / 1,a,5,b,6,finals / 2,c,1,a,3,semifinal", "pairs"),
    "wins both ways": ("i,j,r_ij,w_ij,w_ji,t_ij / 1,2,57,19,22,16 / 1,3,47,16,19,12", "pairs"),
    "couples are teams": ("side1,side2,wins1,wins2 / p1+p2,p3+p4,9,2 / p1+p3,p2+p4,4,4", "teams"),
    "lists of winners": ("winners,losers / a|b,c|d / a|c,b|d", "teams"),
    # rankings
    "a grand prix": (
        "race,driver,team,place,points / 1,ann,red,1,25 / 1,bo,red,2,18 / 2,bo,red,1,25"
        " / 2,ann,red,DNF,0", "rankings"),
    "a grand prix with row numbers": (
        "id,race,driver,place / 1,spa,ann,1 / 2,spa,bo,2 / 3,monza,ann,2 / 4,monza,bo,1",
        "rankings"),
    "ballots": ("voter,ballot / 1,a > b > c / 2,b > a", "rankings"),
    "ballots with counts": ("ranking,count / a|b|c,12 / b|c|a,7", "rankings"),
    "car configurations": ("Rank_1,Rank_2,Rank_3 / 6,2,1 / 2,4,6", "rankings"),
    "podiums": ("1st,2nd,3rd,n / Ann,Bo,Cy,2 / Bo,Cy,Ann,1", "rankings"),
    # choices
    "mode choice, long": (
        "case,alt,choice,dist,cost,ivt / 1,train,0,83,28.2,50 / 1,car,1,83,15.7,61"
        " / 2,train,1,83,28.2,50 / 2,car,0,83,15.7,61", "choices"),
    "mode choice of the MTC": (
        "casenum,altnum,chose,ivtt,totcost,hhid / 1,1,1,13.4,70.6,2 / 1,2,0,18.4,35.3,2"
        " / 2,1,0,29.9,390.8,3 / 2,2,1,34.9,195.4,3", "choices"),
    "persons and their choices": (
        "id,chid,alt,choice,price / 1,1,a,1,7 / 1,1,b,0,9 / 1,2,a,0,7 / 1,2,b,1,9", "choices"),
    "assortments": ("offered,chosen,count / air|bus|car,air,1039 / bus|car,car,23", "choices"),
    "the smallest of Swissmetro": (
        "subject,group,choice,avail_a,avail_b / 1,2,a,1,1 / 2,3,b,1,1 / 3,2,a,1,1", "choices"),
    "Swissmetro": (
        "GROUP,SURVEY,SP,ID,PURPOSE,FIRST,TICKET,WHO,AGE,ORIGIN,DEST,TRAIN_AV,CAR_AV,SM_AV,"
        "TRAIN_TT,TRAIN_CO,SM_TT,CHOICE / 2,0,1,1,1,0,1,1,3,2,1,1,1,1,112,48,63,SM"
        " / 3,0,1,2,1,0,1,1,3,2,1,1,0,1,103,48,60,TRAIN", "choices"),
    "a choice and its losers": ("chosen,losers / a,b|c / b,a", "choices"),
    "clicks": (
        "session_id,item,purchased / s1,x,1 / s1,y,0 / s2,y,1 / s2,z,0", "choices"),
    # transitions
    "moves": ("from,to,count / a,b,3 / b,a,2 / b,c,1", "transitions"),
    "migration": ("origin,destination,n / Utah,Ohio,3 / Ohio,Utah,2", "transitions"),
    "behaviour": (
        "subject,time,behaviour,group / 1,1,rest,control / 1,2,run,control / 2,1,run,drug"
        " / 2,2,rest,drug", "transitions"),
    "motion capture": (
        "sequence,time,root.ty,label / 0,0,-0.69,Jog / 0,1,1.22,Jog / 0,2,0.1,Squat",
        "transitions"),
    "syllables": (
        "session,frame,syllable,x / s,1,7,0.5 / s,2,7,0.6 / s,3,9,0.5", "transitions"),
    # grouped answers
    "one of several": ("set,count / low,14 / medium,17 / low|medium,28", "groups"),
    "answers within": ("id,group,within / 1,a|b,a|b|c / 2,c,c|d", "groups"),
}  # fmt: skip

# Header and rows, and words of the question that is asked.
ASKED = {
    "grouped answers beside a choice": (
        "subject,group,choice,avail_a,avail_b / 1,a|b,a,1,1 / 2,b,b,1,1",
        "could be choices (chosen='choice'"),
    "a group that is a group": ("subject,group / 1,control / 2,drug", "Not groups: 'group' holds"),
    "answers in words": (
        "respondent,question,answer / 1,q1,yes / 1,q2,well; no", "of no use"),
    "a league table": (
        "team,played,won,drawn,lost,points / Ann,10,7,1,2,22 / Bo,10,2,1,7,7",
        "'won' holds numbers"),
    "a choice and a rank": (
        "id,alternative,rank,chosen / 1,a,1,1 / 1,b,2,0 / 2,a,2,0 / 2,b,1,1",
        "could be rankings (ranking='id', item='alternative', rank='rank') or choices"),
    "choices over time": (
        "session,time,state,alternative,choice / 1,1,x,a,1 / 1,2,y,b,0 / 2,1,y,a,0 / 2,2,x,b,1",
        "choices (case='session', alternative='alternative', chosen='choice') or transitions"),
    "pairs or teams": (
        "team1,team2,winner / Ann/Bo,Cy/Di,Ann/Bo / Ann/Cy,Bo/Di,Bo/Di", "could be pairs (item1="),
    "teams or choices": ("winners,losers,chosen / a,b,a", "could be choices (chosen='chosen'"),
    "labels of a crowd": (
        "id,label,annotator / 1,cat,u1 / 1,dog,u2 / 2,cat,u1", "could be transitions"),
    "features": ("a,b,label / 0.3,0.4,1 / 0.5,0.1,0", "'a' holds fractions"),
    "features in whole numbers": ("a,b,label / 3,4,1 / 5,1,0", "but also something else"),
    "ranges": ("from,to,n / 0,10,3 / 10,20,4 / 20,30,1", "as in ranges of numbers"),
    "dates": ("from,to,room / 2020-01-01,2020-01-03,7 / 2020-01-02,2020-01-05,9", "holds dates"),
    "staff": ("id,name,position / 1,ann,cook / 2,bo,waiter", "'position' holds"),
    "places of birth": ("id,state,age / 1,Ohio,33 / 2,Utah,45 / 3,Ohio,20", "differs in all rows"),
    "orders of goods": ("customer,order,price / 1,2 cola, 3 / 2,1 tea,4".replace(", 3", ",3"),
                        "of no use"),
    "numbered orders": ("order,price / 1001,3.5 / 1002,4.5", "'order' holds single values"),
    "preferences as prose": (
        "prompt,chosen,rejected / why,{0},{1} / how,{1},{0}".format("w " * 99, "v " * 99),
        "holds long texts"),
    "questions of a conjoint survey": (
        "choice1,choice2,choice3 / a,a,b / b,a,a", "hold the same value twice in one row"),
    "columns that are numbers": ("1,2,3 / 5,7,6 / 8,9,4", "rankings"),
    "scores in words": ("home,away,result / a,b,2:1 / b,a,0:0 / c,a,3:1", "names no winner"),
    "a square table": (",a,b,c / a,0,1,2 / b,3,0,4 / c,5,6,0", "are a square table"),
    "a table of counts": ("shop,tea,milk / north,2,1 / south,3,4", "fit no kind"),
    "ranks in columns": ("salad_a,salad_b,salad_c / 1,2,3 / 2,1,3", "fit no kind"),
    "a sensor": ("timestamp,sensor,value / 2020-01-01T00:00,t1,20.5 / 2020-01-01T00:01,t1,20.6",
                 "fit no kind"),
    "an accelerometer": ("time,x,y,z / 0,0.1,0.2,9.8 / 1,0.1,0.3,9.7", "fit no kind"),
    "weather": ("date,temperature,rain,wind / 2020-01-01,3.2,0,14 / 2020-01-02,2.9,4,30",
                "fit no kind"),
    "persons": ("id,name,age,income / 1,ann,33,50000 / 2,bo,45,41000", "fit no kind"),
    "tennis": ("tourney_id,winner_name,loser_name,score / 2020-1,Ann,Bo,6-3 / 2020-1,Cy,Di,7-5",
               "Did you mean winner='winner_name', loser='loser_name' (pairs)"),
    "a slip of the pen": ("Winer,Losser / a,b / b,c",
                          "Did you mean winner='Winer', loser='Losser' (pairs)"),
}  # fmt: skip

# Two columns of a kind that could play one role.
WHICH = {
    "two ranks": (
        "race,driver,position,rank / 1,a,1,2 / 1,b,2,1 / 2,a,2,2 / 2,b,1,1",
        "rank may be 'rank' or 'position'; say which, as in rank='rank'"),
    "riders and their teams": (
        "heat,team,player,rank / 1,red,a,1 / 1,blue,b,2 / 2,red,c,2 / 2,blue,d,1",
        "item may be 'team' or 'player'"),
    "two results": (
        "home,away,result,winner / a,b,H,b / b,a,A,b", "outcome may be 'result' or 'winner'"),
    "two counts": ("winner,loser,n,times / a,b,2,3 / b,c,1,1", "count may be 'n' or 'times'"),
    "heats of races": (
        "race,heat,driver,place / 1,1,a,1 / 1,1,b,2 / 1,2,c,1 / 1,2,d,2 / 2,1,e,2 / 2,1,f,1",
        "ranking may be 'race' or 'heat'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), TOLD.values(), ids=TOLD)
def test_the_kind_is_told(write: Any, text: str, kind: str) -> None:
    path = write("data.csv", text.replace(" / ", "\n") + "\n")
    assert find_kind(delimited_source(TextFile(path)), {}).name == kind


@pytest.mark.parametrize(("text", "words"), ASKED.values(), ids=ASKED)
def test_the_kind_is_asked_for(write: Any, text: str, words: str) -> None:
    said = refusal(write("data.csv", text.replace(" / ", "\n") + "\n"))
    assert words in said
    assert "Say which it is: kind=" in said


@pytest.mark.parametrize(("text", "words"), WHICH.values(), ids=WHICH)
def test_two_columns_for_one_role_are_asked_about(write: Any, text: str, words: str) -> None:
    assert words in refusal(write("data.csv", text.replace(" / ", "\n") + "\n"))


def test_a_league_table_is_not_read_as_pairs_even_if_asked_to() -> None:
    table = {"team": ["Ann", "Bo"], "won": [7, 2], "lost": [2, 7]}
    with pytest.raises(DataError, match="'won' holds numbers"):
        luce.from_pairs(table)
    assert luce.from_pairs(table, winner="won", loser="lost").categories == (2, 7)
    named = {"won": ["Ann", "Bo"], "lost": ["Bo", "Cy"]}
    assert luce.from_pairs(named) == luce.from_pairs([("Ann", "Bo"), ("Bo", "Cy")])


def test_results_in_numbers() -> None:
    games = {"home": ["a", "b", "c"], "away": ["b", "c", "a"], "result": [1, 0, -1]}
    words = {**games, "result": ["H", "D", "A"]}
    assert luce.from_pairs(games, ties="entity") == luce.from_pairs(words, ties="entity")


def test_a_misspelt_home_is_asked_about_with_other_columns(write: Any) -> None:
    path = write("g.csv", "white,black,result\na,b,1-0\n")
    with pytest.raises(luce.errors.QuestionsError) as asked:
        luce.read(path, home="frist", ignore=["resalt"])
    home, ignored = asked.value.questions
    assert "Did you mean 'first'?" in home
    assert "Did you mean 'result'?" in ignored
